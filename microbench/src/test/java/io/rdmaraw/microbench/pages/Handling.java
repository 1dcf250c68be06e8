package io.rdmaraw.microbench.pages;

import java.util.List;
import java.util.regex.Pattern;

/**
 * How the test runs a command of a page; one that the list does not have runs as it stands.
 *
 * @param page         whose commands
 * @param command      of which the whole text matches
 * @param way          what is done
 * @param word         of {@link Way#LEFT_OUT} the reason; of {@link Way#SERVER} and {@link Way#BESIDE} what it prints
 *                     when it is ready, or {@code xdp} and the interface that has a program then; of
 *                     {@link Way#INSTEAD} the command in its place, with groups of the pattern; of {@link Way#UNTIL}
 *                     for how many seconds
 * @param serverOrNull a server that is started before the command, in the place of those before; empty: these end, and
 *                     none is started
 */
record Handling(String page, Pattern command, Way way, String word, String serverOrNull) {
    /** What is done with a command. */
    enum Way {
        LEFT_OUT, SERVER, BESIDE, INSTEAD, UNTIL
    }

    static final String LISTENING = "listening";
    private static final String EMULATED = "it takes a card, or the launcher's emulated one: the emulated executions of"
            + " the tests, and ./rdma-raw hardware-check --device emulated";
    private static final String FRAMEWORKS = "the tests of examples/frameworks start each, with another class path";
    private static final String CONTAINERS = "./rdma-raw test --containers documented own runs them in podman";
    private static final String RELEASE = "./rdma-raw release --dry-run does it, in a copy outside of the tree";

    private static final String DEMO = "ServerDemoTest runs it";

    static final List<Handling> LIST = List.of(
            with("README.md", "(curl) (http://192.0.2.1:8080/) .*", "ip netns exec far $1 -sS $2",
                    "./rdma-raw example http --device soft:xdp:eth0 --address 192.0.2.1"),
            leftOut("README.md", "\\./rdma-raw demo .*", DEMO),
            leftOut("examples/README.md", "\\./rdma-raw demo .*", DEMO),
            server("README.md", "sudo (\\./rdma-raw java FrameEcho.java .*?) +#.*", "xdp rr0"),
            server("examples/README.md", "(\\./rdma-raw example .*)", LISTENING),
            with("examples/README.md", "(curl .*)", "$1", "./rdma-raw example http"),
            with("examples/README.md", "(redis-cli set .*)", "$1", "./rdma-raw example redis"),
            server("docs/waiting.md", "(\\./rdma-raw example .*?) +#.*", LISTENING),
            instead("docs/waiting.md", "wrk (.*) -d10 (.*)", "ip netns exec far wrk $1 -d1 $2"),
            leftOut("examples/frameworks/README.md", ".*", FRAMEWORKS),
            leftOut("examples/quickstart/README.md", "mvn .*", RELEASE),
            leftOut("docs/cards.md", ".* (mlx5_0|emulated) .*", EMULATED),
            leftOut("docs/hardware.md", ".*", EMULATED),
            leftOut("docs/containers.md", ".*", CONTAINERS),
            leftOut("docs/deploying.md", "rdma-raw-broker .*|SOFTVERBS_BROKER=.*",
                    "an installed broker; WithoutCapabilitiesTest runs one as another user"),
            new Handling("docs/deploying.md", Pattern.compile("(\\./rdma-raw example .*?)(?: &)?"), Way.BESIDE,
                    LISTENING, null),
            leftOut("docs/deploying.md", "systemctl .*", "systemd; RollingRestartOverVethTest does what it does"),
            leftOut("docs/notebook.md", "\\./rdma-raw report .*", "minutes, and it writes into the repository"),
            leftOut("docs/notebook.md", "\\./rdma-raw sim goodput .*", "what may be given, not a command"),
            with("docs/observability.md", "(\\./rdma-raw top) +#.*", "$1 -n 1", "./rdma-raw example http"),
            leftOut("docs/quickstart.md", "\\./rdma-raw install .*|cp -r .*", RELEASE),
            leftOut("docs/quickstart.md", "mvn .*", RELEASE),
            with("docs/quickstart.md", "(ip netns exec peer curl .*)", "$1",
                    "./rdma-raw java HelloServer.java soft:xdp:server0"),
            until("docs/quickstart.md", "\\./rdma-raw top +#.*", "3"),
            instead("docs/simulation.md", "(\\./rdma-raw sim) --seeds 200000 (.*)", "$1 --seeds 20 $2"),
            leftOut("docs/simulation.md", "\\./rdma-raw sim scripts", "ScriptTest plays them"),
            until("docs/simulation.md", "\\./rdma-raw sim link .*", "3"),
            instead("docs/tools.md", "(\\./rdma-raw bw -a|\\./rdma-raw bw -q 4 .* 64) .*", "$1 -n 1000"),
            server("docs/tools.md", "(\\./rdma-raw lat .* -Z .*?) +#.*", "answers until"),
            instead("docs/tools.md", "(\\./rdma-raw lat) -d soft:xdp:eth1 (-P .*?) +#.*", "$1 -d soft:xdp:eth2 $2"),
            alone("docs/tools.md", "\\./rdma-raw pktgen tx .*", "3"),
            alone("docs/tools.md", "\\./rdma-raw pktgen rx .*", "3"));

    private static Handling leftOut(String page, String command, String reason) {
        return new Handling(page, Pattern.compile(command), Way.LEFT_OUT, reason, null);
    }

    /** Of the command the first group runs beside the commands that follow, until the next server. */
    private static Handling server(String page, String command, String ready) {
        return new Handling(page, Pattern.compile(command), Way.SERVER, ready, null);
    }

    private static Handling instead(String page, String command, String other) {
        return new Handling(page, Pattern.compile(command), Way.INSTEAD, other, null);
    }

    /** As the page says before, or in words, a server is there. */
    private static Handling with(String page, String command, String other, String server) {
        return new Handling(page, Pattern.compile(command), Way.INSTEAD, other, server);
    }

    /** It runs until Ctrl-C, which it gets after a while. */
    private static Handling until(String page, String command, String seconds) {
        return new Handling(page, Pattern.compile(command), Way.UNTIL, seconds, null);
    }

    /** As {@link #until}, on interfaces that a server before it has had. */
    private static Handling alone(String page, String command, String seconds) {
        return new Handling(page, Pattern.compile(command), Way.UNTIL, seconds, "");
    }

    boolean isFor(PageCommand other) {
        return page.equals(other.page()) && command.matcher(other.text()).matches();
    }
}
