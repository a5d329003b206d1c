//! Places for work that many clients may ask for at once. No single client can take them all.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of places, and each client's share of them.
pub(in crate::daemon::http) struct Places {
    all: Arc<Semaphore>,
    share: usize,
    shares: Mutex<BTreeMap<IpAddr, Arc<Semaphore>>>,
}

/// A place, until it is dropped.
pub(in crate::daemon::http) struct Place {
    _place: OwnedSemaphorePermit,
    _share: Option<OwnedSemaphorePermit>,
}

impl Places {
    /// Makes `all` places, of which one client can have at most `share`.
    pub(in crate::daemon::http) fn new(all: usize, share: usize) -> Places {
        Places { all: Arc::new(Semaphore::new(all)), share, shares: Mutex::default() }
    }

    /// Waits for a place. Clients that wait for their share do not delay others.
    pub(in crate::daemon::http) async fn take(&self, peer: Option<IpAddr>) -> Option<Place> {
        let share = match peer.map(|peer| self.share_of(network(peer))) {
            Some(share) => Some(share.acquire_owned().await.ok()?),
            None => None,
        };
        Some(Place { _place: self.all.clone().acquire_owned().await.ok()?, _share: share })
    }

    fn share_of(&self, peer: IpAddr) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // Entries that nobody holds or waits for are dropped.
        shares.retain(|known, share| *known == peer || Arc::strong_count(share) > 1);
        shares.entry(peer).or_insert_with(|| Arc::new(Semaphore::new(self.share))).clone()
    }
}

/// Returns the network that counts as one client: with IPv6, all addresses with the same first half.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn try_take(places: &Places, peer: &str) -> Option<Place> {
        timeout(Duration::from_millis(1), places.take(Some(peer.parse().unwrap()))).await.ok().flatten()
    }

    #[tokio::test(start_paused = true)]
    async fn no_address_has_all_places() {
        let places = Places::new(3, 2);
        let one = try_take(&places, "192.0.2.1").await;
        assert!(one.is_some());
        let two = try_take(&places, "::ffff:192.0.2.1").await.unwrap();
        assert!(try_take(&places, "192.0.2.1").await.is_none());
        let three = try_take(&places, "2001:db8::1").await;
        assert!(three.is_some());
        // All are taken.
        assert!(try_take(&places, "192.0.2.3").await.is_none());
        drop((one, three));
        let _four = try_take(&places, "2001:db8::2").await.unwrap();
        let _five = try_take(&places, "2001:db8::ffff:3").await.unwrap();
        assert!(try_take(&places, "2001:db8::4").await.is_none());
        drop(two);
        assert!(try_take(&places, "192.0.2.1").await.is_some());
        assert!(places.shares.lock().unwrap().len() <= 2);
    }
}
