default["wordpress"]["port"] = 80
default["wordpress"]["plugins"] = []
default["wordpress"]["db"]["url"] = "mysql://127.0.0.1/test"
default["wordpress"]["db"]["password"] = "secret"
