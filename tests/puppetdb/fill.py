#!/usr/bin/env python3
"""Fills a PuppetDB by its command endpoint with nodes of realistic size, and writes what was sent as profiles:

    tests/puppetdb/fill.py URL COUNT PROFILES.ndjson
    tests/puppetdb/fill.py URL from PROFILES.ndjson NAME [VARIABLE]

The second form sends the nodes of a file, with their variables but VARIABLE as facts and NAME as the fact `corpus`. In the
first, each node has as many facts as Facter and a handful of modules give, some 30 KiB, with the values that break readers:
large integers, floats, texts beyond ASCII and with quotes, dots in names, nulls and empty hashes within facts.
"""
import http.client
import json
import random
import sys
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from uuid import NAMESPACE_DNS, uuid5

ENVIRONMENTS = ["production", "staging", "feature_x"]
ROLES = ["web", "db", "cache", "build", "mail"]
SYSTEMS = [("Debian", "Debian", "12", "bookworm"), ("Debian", "Ubuntu", "22.04", "jammy"), ("RedHat", "AlmaLinux", "9", None)]


def interface(dice, number):
    address = f"10.{number}.{dice.randrange(256)}.{dice.randrange(1, 255)}"
    bindings = [{"address": address, "netmask": "255.255.255.0", "network": f"10.{number}.0.0"}]
    return {"bindings": bindings, "bindings6": [], "ip": address, "mac": f"52:54:00:{dice.randrange(256):02x}:00:01",
            "mtu": 1500, "netmask": "255.255.255.0", "network": f"10.{number}.0.0", "scope6": "link"}


def mount(dice, number):
    size = dice.randrange(10**12)
    return {"available_bytes": size // 2, "capacity": "50.00%", "device": f"/dev/mapper/vg-lv{number}", "filesystem": "ext4",
            "options": ["rw", "relatime", "errors=remount-ro"], "size_bytes": size, "used": "1.00 GiB"}


def facts(dice, name, number):
    hostname, domain = name.split(".", 1)
    family, distro, major, codename = dice.choice(SYSTEMS)
    packages = [f"lib{dice.choice('abcdefgh')}{dice.randrange(1000)}-{kind}" for kind in ("dev", "doc", "bin") for _ in range(200)]
    return {
        "os": {"architecture": "amd64", "family": family, "name": distro, "hardware": "x86_64",
               "release": {"full": f"{major}.4", "major": major, "minor": "4"},
               "distro": {"codename": codename, "id": distro, "release": {"full": major, "major": major}},
               "selinux": {"enabled": False}},
        "networking": {"hostname": hostname, "domain": domain, "fqdn": name, "primary": "eth0", "ip": f"10.0.0.{number % 250}",
                       "interfaces": {f"eth{n}": interface(dice, n) for n in range(4)}},
        "role": dice.choice(ROLES), "datacenter": f"dc{number % 3}", "is_virtual": number % 2 == 0,
        "processors": {"count": 8, "isa": "x86_64", "models": ["Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"] * 8},
        "memory": {"system": {"total_bytes": 2**34 + number, "used": "3.17 GiB", "capacity": "20.53%"}, "swap": {}},
        "mountpoints": {f"/srv/v{n}.d": mount(dice, n) for n in range(12)},
        "partitions": {f"/dev/mapper/vg-lv{n}": mount(dice, n) for n in range(12)},
        "ssh": {kind: {"fingerprints": {"sha256": "SHA256:" + "x" * 43}, "key": "A" * 372} for kind in ("rsa", "ecdsa", "ed25519")},
        "kernel": "Linux", "kernelmajversion": "6.1", "kernelrelease": "6.1.0-13-amd64", "clientcert": name,
        "load_averages": {"1m": dice.random(), "5m": 0.5, "15m": 1e-7}, "system_uptime": {"seconds": dice.randrange(10**7)},
        "largest": 2**63 - 1, "negative": -7, "text": "naïve \"quoted\" \\ 日本 \u2028 %{facts.role}", "empty": {}, "nothing": [],
        "deep": {"a": {"b": [None, {"c.d": True, "": "unnamed"}]}, "null": None}, "with-dash": "dash", "two words": "spaced",
        "dotted.name": {"x": 1}, "apt_packages": packages, "installed": {package: "1:2.3.4-5+deb12u1" for package in packages[:300]},
    }


def node(number):
    dice = random.Random(number)
    name = f"{dice.choice(ROLES)}{number:05}.example.com"
    hostname, domain = name.split(".", 1)
    trusted = {"authenticated": "remote", "certname": name, "hostname": hostname, "domain": domain, "external": {},
               "extensions": {"pp_role": dice.choice(ROLES), "1.3.6.1.4.1.34380.1.2.1": "own"} if number % 4 else {}}
    environment = dice.choice(ENVIRONMENTS)
    profile = {"name": name, "environment": environment, "facts": facts(dice, name, number), "trusted": trusted}
    # A tenth of the nodes has no catalog yet.
    if number % 10 == 3:
        return profile
    profile["catalog_classes"] = classes(profile["facts"]["role"], number)
    # Most have a record of what was looked up for it; of some it is of the catalog before.
    return profile if number % 10 == 4 else {**profile, "catalog_keys": keys(number)}


def classes(role, number):
    """The names of the classes in a catalog, as code has them."""
    return sorted(["main", "settings", f"role::{role}", *(["apache", "apache::mod::ssl"] if number % 4 == 0 else [])])


def keys(number):
    """The keys that were looked up for a catalog, beside those of its classes."""
    return sorted(["hostname", *(["motd::text"] if number % 3 == 0 else []), *(["apache::port"] if number % 8 == 2 else [])])


def inputs(profile, now, uuid):
    """A record of lookups as a Puppet server sends it."""
    of_classes = [f"{name}::{parameter}" for name in profile["catalog_classes"] for parameter in ("x", "port")]
    return {"certname": profile["name"], "producer_timestamp": now, "catalog_uuid": uuid,
            "inputs": [["hiera", key] for key in sorted({*profile["catalog_keys"], *of_classes})] + [["other", "hosts"]]}


def resource(name):
    """A class, as a catalog has it."""
    title = "::".join(word.capitalize() for word in name.split("::"))
    return {"type": "Class", "title": title, "aliases": [], "exported": False, "file": None, "line": None, "tags": ["class", name],
            "parameters": {}}


def catalog(profile, now, uuid):
    others = [{**resource("x"), "type": "Stage", "title": "main"}, {**resource("x"), "type": "File", "title": "/etc/motd"}]
    return {"certname": profile["name"], "version": "1", "environment": profile["environment"], "transaction_uuid": None,
            "catalog_uuid": uuid, "code_id": None, "job_id": None, "producer_timestamp": now, "producer": "puppet.example.com",
            "resources": [resource(name) for name in profile["catalog_classes"]] + others, "edges": []}


def send(url, profile):
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    command = {"certname": profile["name"], "environment": profile["environment"], "producer_timestamp": now,
               "producer": "puppet.example.com", "values": {**profile["facts"], "trusted": profile["trusted"]}}
    post(url, "replace_facts", 5, command)
    if "catalog_classes" in profile:
        uuid = str(uuid5(NAMESPACE_DNS, profile["name"]))
        post(url, "replace_catalog", 9, catalog(profile, now, uuid))
        if "catalog_keys" in profile:
            post(url, "replace_catalog_inputs", 1, inputs(profile, now, uuid))
        else:
            post(url, "replace_catalog_inputs", 1, inputs({**profile, "catalog_keys": ["old"]}, now, str(uuid5(NAMESPACE_DNS, "old"))))


def post(url, name, version, command):
    address = urllib.parse.urlsplit(url)
    query = urllib.parse.urlencode({"command": name, "version": version, "certname": command["certname"]})
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/pdb/cmd/v1?{query}", json.dumps(command).encode(), headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()


def count(url, entity="factsets"):
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("GET", f"/pdb/query/v4/{entity}?" + urllib.parse.urlencode({"query": '["extract",[["function","count"]]]'}))
    return json.load(connection.getresponse())[0]["count"]


def recorded(url):
    """The number of nodes with a record of lookups."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    query = '["extract",["certname"],["=","name","hostname"]]'
    connection.request("GET", "/pdb/query/v4/catalog-input-contents?" + urllib.parse.urlencode({"query": query}))
    return len(json.load(connection.getresponse()))


def known(path, corpus, left_out):
    """The nodes of a file, as an agent would send them; without the variable that a manifest sets."""
    with open(path, encoding="utf-8") as file:
        profiles = [json.loads(line) for line in file]
    for profile in profiles:
        name = profile["name"]
        hostname, _, domain = name.partition(".")
        facts = {**profile.get("facts", {}), **profile.get("variables", {}), "corpus": corpus, "clientcert": name}
        facts.pop(left_out, None)
        trusted = {"authenticated": "remote", "certname": name, "hostname": hostname, "domain": domain or None, "extensions": {}, "external": {}}
        yield {"name": name, "environment": profile.get("environment", "production"), "facts": facts,
               "trusted": {**trusted, **profile.get("trusted", {})}}


def main(url, total, path, corpus=None, left_out=None):
    before = 0 if corpus is None else count(url)
    profiles = [node(number) for number in range(int(total))] if corpus is None else list(known(path, corpus, left_out))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda profile: send(url, profile), profiles))
    if corpus is None:
        with open(path, "w", encoding="utf-8") as file:
            for profile in sorted(profiles, key=lambda profile: profile["name"]):
                print(json.dumps(profile, ensure_ascii=False), file=file)
    end = time.time() + 600
    catalogs = sum("catalog_classes" in profile for profile in profiles)
    records = sum("catalog_keys" in profile for profile in profiles)
    while count(url) < before + len(profiles) or count(url, "catalogs") < catalogs or recorded(url) < records:
        assert time.time() < end, f"PuppetDB has {count(url)} of {before + len(profiles)} nodes after ten minutes"
        time.sleep(0.5)


if __name__ == "__main__":
    main(*sys.argv[1:])
