name "mysql"
version "1.0.0"
depends "base"
