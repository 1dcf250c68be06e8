# shellcheck shell=bash
# A stock client of HTTP/3 that hands the kernel many datagrams at once (UDP_SEGMENT): the first curl of Debian that is
# built with ngtcp2, with its libraries and its C library, unpacked beside the system's. That of Debian 13 sends by
# OpenSSL's QUIC, datagram by datagram.

readonly HTTP3_CURL_SUITE=forky

# Puts it into a directory: DIRECTORY/curl is the program, wherever the directory is then.
fetch_http3_curl() {
  local directory="$1"
  unpack_of_suite "curl with HTTP/3" "$HTTP3_CURL_SUITE" "$directory" with-dependencies curl
  cat >"$directory/curl" <<'PROGRAM'
#!/bin/sh
root="$(dirname "$(readlink -f "$0")")/root/usr"
exec "$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$root/lib/x86_64-linux-gnu" "$root/bin/curl" "$@"
PROGRAM
  chmod +x "$directory/curl"
  "$directory/curl" --version | grep -q ngtcp2 ||
    give_up "curl of Debian $HTTP3_CURL_SUITE is not built with ngtcp2"
}
