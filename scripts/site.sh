# shellcheck shell=bash
# ./rdma-raw site: the documents of the repository and the Javadoc as static pages. VitePress makes them; npm gets it.

site_usage() {
  cat <<'USAGE'
usage: ./rdma-raw site [--out DIR]

Makes static pages of the documents and the Javadoc, with a search, and checks their links.

  --out DIR   where to (target/site/pages); what is there is replaced

Any web server shows them, such as python3 -m http.server -d DIR. It takes npm and Node.js 18.17 or newer, and gets
VitePress by npm into target/site. Ends with 1 if a page or an anchor that is linked to is not there.
USAGE
}

# The pages, where they are in the repository, so that the links between them hold; and what is shown as it is.
copy_pages() {
  local to="$1"
  mkdir -p "$to/public/docs/lab"
  (cd "$ROOT" && printf '%s\0' README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md GOVERNANCE.md CODE_OF_CONDUCT.md \
    examples/README.md docs/*.md docs/*/*.md docs/lab/*.svg | tar -c --null -T -) | tar -x -C "$to"
  mv "$to/README.md" "$to/index.md"
  cp "$ROOT/docs/lab/report.html" "$to/public/docs/lab"
  cp "$ROOT"/docs/lab/*.svg "$to/public/docs/lab"
  mkdir -p "$to/.vitepress"
  cp "$ROOT/scripts/site/config.mjs" "$to/.vitepress"
}

# Debian 12 has 18.20, and 13 has 20.19.
readonly OLDEST_NODE=18.17

require_node() {
  local version
  if ! command -v npm >/dev/null; then
    # A package of Node.js that has npm inside conflicts with Debian's of npm.
    if can_install_packages; then apt_install nodejs npm || true; fi
  fi
  command -v npm >/dev/null || give_up "the site is made by npm, with Node.js $OLDEST_NODE or newer:" \
    "sudo apt-get install -y nodejs npm   (Debian 12, Ubuntu 24.04 or newer)"
  version="$(node --version)"
  [ "$(printf '%s\n' "$OLDEST_NODE" "${version#v}" | sort -V | head -n 1)" = "$OLDEST_NODE" ] \
    || give_up "the site takes Node.js $OLDEST_NODE or newer, and node on the PATH is $version"
}

run_site() {
  local out="$ROOT/target/site/pages" work="$ROOT/target/site" javadoc="$ROOT/transport-rdma-raw/target/reports/apidocs"
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) out="$(realpath -m "${2:?--out needs a directory}")" && shift 2 ;;
      --out=*) set -- --out "${1#*=}" "${@:2}" ;;
      *) die "site has no option '$1': ./rdma-raw site --help" ;;
    esac
  done
  [ ! -e "$out" ] || [ -f "$out/hashmap.json" ] || die "site --out replaces the directory, and $out is no site"
  require_node
  require_jdk
  require_build_tools
  say "site: Javadoc"
  # The build skips the Javadoc unless it is asked for.
  run_maven_logged "$work-javadoc.log" -B -pl transport-rdma-raw -am -DskipTests -Dmaven.test.skip=true \
    -Dmaven.source.skip=true -Dmaven.javadoc.skip=false package javadoc:javadoc
  say "site: pages"
  rm -rf "$work/source"
  copy_pages "$work/source"
  cp -r "$javadoc" "$work/source/public/javadoc"
  cp "$ROOT"/scripts/site/package*.json "$work"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npx vitepress build source --outDir "$out") \
    >"$work.log" 2>&1 || { cat "$work.log" && give_up "the site was not made; what npm and VitePress say is above"; }
  say "site: links"
  node "$ROOT/scripts/site/check-links.mjs" "$out" || return 1
  echo "$out: $(find "$out" -name '*.html' -not -path '*/javadoc/*' | wc -l) pages and the Javadoc"
}
