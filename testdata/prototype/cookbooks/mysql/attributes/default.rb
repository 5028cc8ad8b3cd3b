default["mysql"]["bind_address"] = "127.0.0.1"
default["mysql"]["port"] = 3307
default["mysql"]["database"] = "test"
