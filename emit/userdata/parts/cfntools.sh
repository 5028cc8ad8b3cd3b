#!/bin/sh
# hotc: Heat's cfntools run this as the server's user_data.
(
@install.sh@
)
# The user's own takes this file's place, so that it sees what it would see alone.
# The shell goes on reading this text: mv leaves the open file what it is.
cat >"$0.hotc" <<'==hotc-own-5d0c1c2a=='
$hotc_user$
==hotc-own-5d0c1c2a==
chmod 700 "$0.hotc"
mv -f "$0.hotc" "$0"
IFS= read -r first <"$0"
case $first in
'#!'*) exec "$0" ;;
esac
echo "hotc: the server's own user_data is empty or not executable"
