"""The machinery: engine, storage, hosts, servers and command line of Stepwell."""
