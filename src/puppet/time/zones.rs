//! The names of time zones of up to four letters that Ruby 3.1 knows, and their offsets.

use std::collections::HashMap;
use std::sync::LazyLock;

const NAMES: &str = "\
    a 60, b 120, c 180, d 240, e 300, f 360, g 420, h 480, i 540, k 600, l 660, m 720, n -60, o -120, p -180, q -240, \
    r -300, s -360, t -420, u -480, v -540, w -600, x -660, y -720, z 0, at -120, bt 180, nt -660, ut 0, wt 0, act -300, \
    adt -180, aft 270, aoe -720, art -180, ast -240, azt 240, bnt 480, bot -240, brt -180, bst 60, btt 360, cat 120, \
    cct 390, cdt -300, cet 60, ckt -600, clt -240, cot -300, cst -360, cvt -60, cxt 420, eat 180, ect -300, edt -240, \
    eet 120, egt -60, est -300, fet 180, fjt 720, fkt -240, fle 120, fnt -120, fst 120, fwt 60, get 240, gft -180, gmt 0, \
    gst 600, gtb 120, gyt -240, hdt -540, hkt 480, hst -600, ict 420, idt 180, iot 360, ist 330, jst 540, kgt 360, \
    kst 540, mdt -360, met 60, mez 60, mht 720, mmt 390, msd 240, msk 180, mst -420, mut 240, mvt 300, myt 480, nct 660, \
    ndt -90, nft 660, npt 345, nrt 720, nst -150, nut -660, nzt 720, pdt -420, pet -300, pgt 600, pht 480, pkt 300, \
    pst -480, pwt 540, ret 240, sbt 660, sct 240, sgt 480, srt -180, sst -660, swt 60, tft 300, tjt 300, tkt 780, \
    tlt 540, tmt 300, tot 780, trt 180, tvt 720, utc 0, uyt -180, uzt 300, vet -240, vut 660, wat 60, wet 0, wft 720, \
    wgt -180, wib 420, wit 540, ydt -480, yst -540, acdt 630, acst 570, aedt 660, aest 600, ahst -600, akdt -480, \
    akst -540, almt 360, anat 720, aqtt 300, arab 180, awdt 540, awst 480, azot -60, azst 300, brst -120, cast 480, \
    cest 120, chot 480, chst 600, chut 600, cist -300, clst -180, davt 420, ddut 600, eadt 660, east -360, eest 180, \
    egst 0, fiji 720, fjst 780, fkst -180, galt -360, gamt -540, gilt 720, hadt -540, hast -600, hovt 420, idle 720, \
    idlw -720, iran 210, irdt 270, irkt 480, irst 210, kost 660, krat 420, kuyt 240, lhdt 660, lhst 630, lint 840, \
    magt 660, mart -510, mawt 300, mest 120, mesz 120, mewt 60, nfdt 720, novt 420, nzdt 780, nzst 720, omst 360, \
    orat 300, pett 720, phot 780, pmdt -120, pmst -180, pont 660, pyst -180, qyzt 360, rott -180, sakt 660, samt 240, \
    sast 120, sret 660, syot 180, taht -600, tost 840, ulat 480, uyst -120, vlat 600, vost 360, wadt 480, wakt 720, \
    wast 120, west 60, wgst -120, wita 480, yakt 540, yapt 600, yekt 300";

/// Returns the offset of a zone in seconds, or `None` for an unknown name.
pub(super) fn offset(name: &str) -> Option<i128> {
    static OFFSETS: LazyLock<HashMap<&str, i128>> = LazyLock::new(|| {
        let entry = |text: &'static str| {
            let (name, minutes) = text.trim().split_once(' ')?;
            Some((name, minutes.parse::<i128>().ok()? * 60))
        };
        NAMES.split(',').filter_map(entry).collect()
    });
    OFFSETS.get(name.to_ascii_lowercase().as_str()).copied()
}
