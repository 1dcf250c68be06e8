package io.rdmaraw.microbench.pages;

import io.rdmaraw.microbench.pages.Handling.Way;
import java.util.List;
import java.util.Optional;

/**
 * Converts the commands of a page to one bash script, which runs in separate namespaces. It creates these interfaces:
 * <ul>
 * <li>eth0 with the address 192.0.2.1; its peer is in the network namespace {@code far}
 * <li>the veth pair eth1 and eth2
 * <li>the veth pair veth0 and veth1
 * </ul>
 *
 * <p>The output of the n-th command is in the file {@code out.n}.
 */
final class PageScript {
    private static final String BEGIN = """
            set -euo pipefail
            mkdir -p /run/netns /run/rdma-raw /tmp/hsperfdata_root
            mount -t sysfs none /sys
            mount -t tmpfs none /run/netns
            mount -t tmpfs none /run/rdma-raw
            # Processes outside of here have other numbers.
            mount -t tmpfs -o mode=755 none /tmp/hsperfdata_root
            ip link set lo up
            ip netns add far
            ip link add eth0 type veth peer name eth0 netns far
            ip address add 192.0.2.1/24 dev eth0
            ip -n far address add 192.0.2.2/24 dev eth0
            ip -n far link set eth0 up
            ip link add eth1 type veth peer name eth2 address 02:72:72:00:00:02
            ip link add veth0 type veth peer name veth1
            for each in eth0 eth1 eth2 veth0 veth1; do ip link set $each up; done
            sudo() { "$@"; }
            server=""
            end_server() { [ -z "$server" ] || { kill $server; wait $server || true; server=""; }; }
            is_ready() { case "$1" in "xdp "*) ip link show ${1#xdp } | grep -q xdp ;; *) grep -q "$1" "$2" ;; esac; }
            await() {
              for ((i = 0; i < 400; i++)); do
                ! is_ready "$1" "$2" || return 0
                kill -0 $server || return 1
                sleep 0.1
              done
              return 1
            }
            """;
    /** A placeholder for the reader. */
    private static final String ELLIPSIS = "dst=...";

    private PageScript() {
    }

    static Optional<Handling> handling(PageCommand command) {
        return Handling.LIST.stream().filter(each -> each.isFor(command)).findFirst();
    }

    static boolean isRun(PageCommand command) {
        return handling(command).map(each -> each.way() != Way.LEFT_OUT).orElse(true);
    }

    static String of(List<PageCommand> commands) {
        StringBuilder script = new StringBuilder(BEGIN);
        for (int i = 0; i < commands.size(); i++) {
            append(script, i, commands.get(i));
        }
        return script.append("end_server\n").toString();
    }

    private static void append(StringBuilder script, int number, PageCommand command) {
        String text = command.text().replace(ELLIPSIS, "dst=02:72:72:00:00:02");
        String out = "out." + number;
        Handling handling = handling(command).orElse(null);
        if (handling == null) {
            run(script, text, out);
            return;
        }
        if (handling.way() == Way.SERVER || handling.serverOrNull() != null) {
            script.append("end_server\n");
        }
        switch (handling.way()) {
            case LEFT_OUT -> { }
            case SERVER -> server(script, expand(handling, text, "$1"), handling.word(), out);
            case BESIDE -> server(script, expand(handling, text, "$1"), handling.word(), out);
            case INSTEAD -> {
                if (handling.serverOrNull() != null) {
                    server(script, handling.serverOrNull(), Handling.LISTENING, out + ".server");
                }
                run(script, expand(handling, text, handling.word()), out);
            }
            case UNTIL -> script.append("timeout -s TERM ").append(handling.word()).append(' ')
                    .append(text.replaceFirst(" +#.*", "")).append(" >").append(out)
                    .append(" 2>&1 </dev/null || [ $? = 124 ]")
                    .append(" || { echo \"failed: \"").append(quoted(text)).append("; cat ").append(out)
                    .append("; exit 1; }\n");
            default -> throw new IllegalStateException(handling.toString());
        }
    }

    private static String expand(Handling handling, String text, String replacement) {
        return text.replaceFirst("^(?:" + handling.command() + ")$", replacement);
    }

    private static void run(StringBuilder script, String text, String out) {
        script.append("{\n").append(text).append("\n} >").append(out).append(" 2>&1 </dev/null || { echo \"failed: \"")
                .append(quoted(text)).append("; cat ").append(out).append("; exit 1; }\n");
    }

    private static void server(StringBuilder script, String text, String ready, String out) {
        script.append(text).append(" >").append(out).append(" 2>&1 </dev/null &\nserver=\"$server $!\"\nawait '")
                .append(ready).append("' ").append(out).append(" || { echo \"not ready: \"").append(quoted(text))
                .append("; cat ").append(out).append("; exit 1; }\n");
    }

    private static String quoted(String text) {
        return '\'' + text.replace("'", "'\\''") + '\'';
    }
}
