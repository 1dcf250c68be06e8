package io.rdmaraw.microbench.report;

import static java.util.Map.entry;

import io.rdmaraw.microbench.suite.BenchCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Lists the measurements of a report:
 * <ul>
 * <li>every subcommand of {@code bench} except the sweep of rivals; a new subcommand is included automatically
 * <li>the frames bench on an emulated ConnectX
 * <li>the HTTP bench on a plain veth pair
 * <li>the server benches with a polling client
 * <li>{@code bw}, {@code lat} and {@code flow-rate}
 * </ul>
 */
final class Measurements {
    private static final int[] BURSTS = {1, 4, 16, 64};
    private static final int[] QUICK_BURSTS = {1, 8, 64};
    private static final double USUAL_BUDGET_SECONDS = 60;
    private static final double TOOL_BUDGET_SECONDS = 5;
    /**
     * Duration of each measurement with {@code --quick} on two idle cores. Their sum is the duration of a quick report.
     */
    private static final Map<String, Double> BUDGET_SECONDS = Map.ofEntries(entry("frames", 31.0),
            entry("emulated", 24.0), entry("wire", 60.0), entry("udp", 60.0), entry("dns", 40.0), entry("http", 97.0),
            entry("redis", 40.0), entry("tcp", 134.0), entry("tcp-core", 25.0), entry("idle", 18.0),
            entry("frameworks", 90.0), entry("http-plain", 36.0), entry("http-polled", 42.0),
            entry("redis-polled", 20.0), entry("dns-polled", 16.0));
    /** Benches that take too long for a quick report. */
    private static final Set<String> NOT_QUICK = Set.of("frameworks", "websocket");
    /** The sweep compares settings of rivals with one another and does not measure this transport. */
    private static final String SWEEP = "rivals";

    private Measurements() {
    }

    static List<Measurement> all(boolean quick, String device) {
        List<Measurement> all = new ArrayList<>(benches(quick));
        all.add(emulated(quick));
        all.add(beside("http", "http-plain", quick, "HTTP on a veth pair with the kernel's defaults, as a user tries"
                + " it first: the kernel receives on the core of the sender, so the client's core pays for a part of"
                + " the server's work.", "--arrangement", "plain", "--connections", "64", "--load", "90"));
        all.add(beside("http", "http-polled", quick, "HTTP under our own client on AF_XDP, which never sleeps, so"
                + " that the figures include neither the client's kernel nor its wake-ups: with one connection, the"
                + " time that a request waits for the server and the path.", "--polled", "--arrangement",
                quick ? "plain" : "plain,rps", "--connections", "64,1"));
        all.add(beside("redis", "redis-polled", quick, "Redis' GET under that client: the core of redis-benchmark is"
                + " saturated before the server's.", "--polled"));
        all.add(beside("dns", "dns-polled", quick, "DNS queries of that client, 200 outstanding on one socket or, not"
                + " in a quick report, one.", "--polled"));
        if (!quick) {
            all.add(beside("http", "http-short", false, "HTTP with ten requests on a connection, at full speed and at"
                    + " equal loads.", "--shape", "short", "--connections", "64"));
        }
        String seconds = quick ? "1" : "3";
        for (int burst : quick ? QUICK_BURSTS : BURSTS) {
            all.add(new Measurement("bw.burst" + burst, "Frames per second by the number of frames per doorbell,"
                    + " without a pipeline: the limit of the device and the calls.", List.of("bw", "-d", device, "-l",
                    Integer.toString(burst), "-Q", Integer.toString(Math.max(1, burst / 2)), "-D", seconds, "--json"),
                    TOOL_BUDGET_SECONDS, false));
        }
        all.add(new Measurement("lat", "Half of the round trip of single frames, from the schedule and from the send.",
                List.of("lat", "-d", device, "-D", seconds, "--json"), TOOL_BUDGET_SECONDS, false));
        all.add(new Measurement("flow-rate", "Flow rules created and removed per second, which limits the rate of"
                + " connections.", List.of("flow-rate", "-d", device, "--json"), TOOL_BUDGET_SECONDS, false));
        return all;
    }

    /** Returns a measurement that runs a bench again with other options, for this transport and epoll only. */
    private static Measurement beside(String bench, String name, boolean quick, String serves, String... options) {
        List<String> arguments = new ArrayList<>(List.of("bench", bench));
        if (quick) {
            arguments.add("--quick");
        }
        arguments.addAll(List.of(options));
        arguments.addAll(List.of("--transport", "rdma-raw,epoll", "--json"));
        return new Measurement(name, serves, arguments, BUDGET_SECONDS.getOrDefault(name, USUAL_BUDGET_SECONDS), false);
    }

    private static Measurement emulated(boolean quick) {
        List<String> arguments = new ArrayList<>(List.of("bench", "frames", "--device", "emulated"));
        if (quick) {
            arguments.addAll(List.of("--quick", "--runs", "3"));
        }
        arguments.add("--json");
        return new Measurement("emulated", "The frames bench on an emulated ConnectX below rdma-core's own libmlx5:"
                + " rings written in place beside the library's calls. The emulation takes most of the time of rx and"
                + " echo; send and receive leave it out.", arguments, BUDGET_SECONDS.get("emulated"), true);
    }

    private static List<Measurement> benches(boolean quick) {
        List<Measurement> benches = new ArrayList<>();
        for (CommandLine bench : new CommandLine(new BenchCommand()).getSubcommands().values()) {
            CommandSpec spec = bench.getCommandSpec();
            if (spec.usageMessage().hidden() || spec.findOption("--json") == null
                    || spec.name().equals(SWEEP) || quick && NOT_QUICK.contains(spec.name())) {
                continue;
            }
            List<String> arguments = new ArrayList<>(List.of("bench", spec.name(), "--json"));
            if (quick && spec.findOption("--quick") != null) {
                arguments.add(2, "--quick");
            }
            if (!quick && spec.findOption("--rival") != null) {
                arguments.addAll(List.of("--rival", "stock,tuned"));
            }
            benches.add(new Measurement(spec.name(), String.join(" ", spec.usageMessage().description()), arguments,
                    BUDGET_SECONDS.getOrDefault(spec.name(), USUAL_BUDGET_SECONDS), false));
        }
        return benches;
    }
}
