#!/bin/sh
# The password is in a variable of the shell and in no process's arguments or environment: it
# is looked for in those of every process that can be seen.
sum=$(printf %s "$password" | sha256sum | cut -c1-64)
mail=$mail_host
(umask 077; printf '%s\n' "$password" > pattern)
seen_in=
for f in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do
  if tr '\0' '\n' 2>/dev/null < "$f" | grep -qF -f pattern; then seen_in="$seen_in $f"; fi
done 2>/dev/null
rm pattern
echo "looked everywhere${seen_in:+, found it in$seen_in}"
