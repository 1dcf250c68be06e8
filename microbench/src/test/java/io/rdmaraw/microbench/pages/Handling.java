package io.rdmaraw.microbench.pages;

import java.util.List;
import java.util.regex.Pattern;

/**
 * Describes how the test runs a command of a page. A command without an entry in the list runs unchanged.
 *
 * @param page         page of the command
 * @param command      pattern that matches the whole text of the command
 * @param way          way in which the command is run
 * @param word         depends on {@code way}. {@link Way#LEFT_OUT}: the reason. {@link Way#SERVER} and
 *                     {@link Way#BESIDE}: the output that shows that the command is ready, or {@code xdp} and the
 *                     interface that has an XDP program then. {@link Way#INSTEAD}: the command that replaces it, with
 *                     references to groups of the pattern. {@link Way#UNTIL}: its duration in seconds
 * @param serverOrNull server to start before the command, after earlier servers have ended; empty to end earlier
 *                     servers without starting one; null to start none
 */
record Handling(String page, Pattern command, Way way, String word, String serverOrNull) {
    /** The way in which a command is run. */
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
            leftOut("README.md", "\\./rdma-raw demo .*", DEMO),
            leftOut("examples/README.md", "\\./rdma-raw demo .*", DEMO),
            server("docs/reference/raw-frames.md", "sudo (\\./rdma-raw java FrameEcho.java .*?) +#.*", "xdp rr0"),
            server("examples/README.md", "(\\./rdma-raw example .*)", LISTENING),
            with("examples/README.md", "(curl .*)", "$1", "./rdma-raw example http"),
            with("examples/README.md", "(redis-cli set .*)", "$1", "./rdma-raw example redis"),
            server("docs/design/waiting.md", "(\\./rdma-raw example .*?) +#.*", LISTENING),
            instead("docs/design/waiting.md", "wrk (.*) -d10 (.*)", "ip netns exec far wrk $1 -d1 $2"),
            leftOut("examples/frameworks/README.md", ".*", FRAMEWORKS),
            leftOut("examples/quickstart/README.md", "mvn .*", RELEASE),
            leftOut("docs/guide/cards.md", ".* (mlx5_0|emulated) .*", EMULATED),
            leftOut("docs/lab/hardware.md", ".*", EMULATED),
            leftOut("docs/guide/containers.md", ".*", CONTAINERS),
            leftOut("docs/guide/broker.md", "rdma-raw-broker .*|SOFTVERBS_BROKER=.*",
                    "an installed broker; WithoutCapabilitiesTest runs one as another user"),
            new Handling("docs/guide/upgrades.md", Pattern.compile("(\\./rdma-raw example .*?)(?: &)?"), Way.BESIDE,
                    LISTENING, null),
            leftOut("docs/guide/deploying.md", "(useradd|install) .*", "installs on the host"),
            leftOut("docs/guide/upgrades.md", "install .*", "installs on the host"),
            leftOut("docs/guide/deploying.md", "(java|C=|setpriv) ?.*",
                    "the installed jars; ToolsJarTest runs the tools, DeployingUnitTest has the rights"),
            leftOut("docs/guide/agent.md", "java .*", "the tests of the agent run programs with it"),
            leftOut("docs/guide/upgrades.md", "systemctl .*", "systemd; RollingRestartOverVethTest does what it does"),
            leftOut("docs/lab/shutdowns.md", ".*", "a quarter of an hour; the ordinary suite runs a part of it"),
            leftOut("docs/lab/reproduce.md", ".*", "a quarter of an hour of measurements"),
            leftOut("docs/lab/host-model.md", ".*", "minutes; HostModelTest runs a part of it"),
            leftOut("docs/lab/notebook.md", "\\./rdma-raw report .*", "minutes, and it writes into the repository"),
            leftOut("docs/lab/notebook.md", "\\./rdma-raw sim goodput .*", "what may be given, not a command"),
            with("docs/reference/observability.md", "(\\./rdma-raw top) +#.*", "$1 -n 1", "./rdma-raw example http"),
            leftOut("docs/guide/quickstart.md", "\\./rdma-raw install .*|cp -r .*", RELEASE),
            leftOut("docs/guide/quickstart.md", "mvn .*", RELEASE),
            with("docs/guide/quickstart.md", "(ip netns exec peer curl .*)", "$1",
                    "./rdma-raw java HelloServer.java soft:xdp:server0"),
            until("docs/guide/quickstart.md", "\\./rdma-raw top +#.*", "3"),
            instead("docs/design/simulation.md", "(\\./rdma-raw sim) --seeds 200000 (.*)", "$1 --seeds 20 $2"),
            leftOut("docs/design/simulation.md", "\\./rdma-raw sim scripts", "ScriptTest plays them"),
            until("docs/design/simulation.md", "\\./rdma-raw sim link .*", "3"),
            leftOut("docs/reference/tools.md", "java -jar .*", "ToolsJarTest runs the jar"),
            instead("docs/reference/tools.md", "(\\./rdma-raw bw -a|\\./rdma-raw bw -q 4 .* 64) .*", "$1 -n 1000"),
            server("docs/reference/tools.md", "(\\./rdma-raw lat .* -Z .*?) +#.*", "answers until"),
            instead("docs/reference/tools.md", "(\\./rdma-raw lat) -d soft:xdp:eth1 (-P .*?) +#.*",
                    "$1 -d soft:xdp:eth2 $2"),
            alone("docs/reference/tools.md", "\\./rdma-raw pktgen tx .*", "3"),
            alone("docs/reference/tools.md", "\\./rdma-raw pktgen rx .*", "3"));

    private static Handling leftOut(String page, String command, String reason) {
        return new Handling(page, Pattern.compile(command), Way.LEFT_OUT, reason, null);
    }

    /**
     * Runs the first group of the pattern in the background during the following commands, until the next server
     * starts.
     */
    private static Handling server(String page, String command, String ready) {
        return new Handling(page, Pattern.compile(command), Way.SERVER, ready, null);
    }

    private static Handling instead(String page, String command, String other) {
        return new Handling(page, Pattern.compile(command), Way.INSTEAD, other, null);
    }

    /** Runs a command after starting the server that the page has described before. */
    private static Handling with(String page, String command, String other, String server) {
        return new Handling(page, Pattern.compile(command), Way.INSTEAD, other, server);
    }

    /** Runs a command that only ends after Ctrl-C, and interrupts it after a while. */
    private static Handling until(String page, String command, String seconds) {
        return new Handling(page, Pattern.compile(command), Way.UNTIL, seconds, null);
    }

    /** Like {@link #until}, but first ends earlier servers, because the command needs their interfaces. */
    private static Handling alone(String page, String command, String seconds) {
        return new Handling(page, Pattern.compile(command), Way.UNTIL, seconds, "");
    }

    boolean isFor(PageCommand other) {
        return page.equals(other.page()) && command.matcher(other.text()).matches();
    }
}
