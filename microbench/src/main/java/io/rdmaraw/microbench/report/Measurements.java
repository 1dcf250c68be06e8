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
 * Lists what a report runs: every subcommand of {@code bench}, the bench of frames once more on an emulated ConnectX,
 * that of HTTP on a plain veth pair, those of servers under a client that polls, and {@code bw}, {@code lat} and
 * {@code flow-rate}.
 * A new subcommand of {@code bench} is in the next report without a change here.
 */
final class Measurements {
    private static final int[] BURSTS = {1, 4, 16, 64};
    private static final int[] QUICK_BURSTS = {1, 8, 64};
    private static final double USUAL_BUDGET_SECONDS = 60;
    private static final double TOOL_BUDGET_SECONDS = 5;
    /** Seconds of each with {@code --quick} on two idle cores; their sum is the time of the report. */
    private static final Map<String, Double> BUDGET_SECONDS = Map.ofEntries(entry("frames", 31.0),
            entry("emulated", 24.0), entry("wire", 60.0), entry("udp", 60.0), entry("dns", 40.0), entry("http", 97.0),
            entry("redis", 40.0), entry("tcp", 134.0), entry("tcp-core", 25.0), entry("idle", 18.0),
            entry("frameworks", 90.0), entry("http-plain", 36.0), entry("http-polled", 42.0),
            entry("redis-polled", 20.0), entry("dns-polled", 16.0));
    /** What a quick report has no time for. */
    private static final Set<String> NOT_QUICK = Set.of("frameworks", "websocket");

    private Measurements() {
    }

    static List<Measurement> all(boolean quick, String device) {
        List<Measurement> all = new ArrayList<>(benches(quick));
        all.add(emulated(quick));
        all.add(beside("http", "http-plain", quick, "HTTP on a veth pair as the kernel makes it, as a user tries it"
                + " first: the kernel receives on the sender's core, so that the client's pays for a part of the"
                + " server's work.", "--arrangement", "plain", "--connections", "64", "--load", "90"));
        all.add(beside("http", "http-polled", quick, "HTTP asked by a client of ours on AF_XDP that never sleeps, so"
                + " that neither the client's kernel nor its waking up is in the figures: with one connection, what a"
                + " request waits for the server and the way.", "--polled", "--arrangement",
                quick ? "plain" : "plain,rps", "--connections", "64,1"));
        all.add(beside("redis", "redis-polled", quick, "Redis' GET asked by that client: redis-benchmark itself is busy"
                + " before the server is.", "--polled"));
        all.add(beside("dns", "dns-polled", quick, "DNS questions by that client, 200 under way by one socket or, not"
                + " in a quick report, one.", "--polled"));
        String seconds = quick ? "1" : "3";
        for (int burst : quick ? QUICK_BURSTS : BURSTS) {
            all.add(new Measurement("bw.burst" + burst, "Frames per second by the frames posted with one doorbell,"
                    + " without a pipeline: what the device and the calls allow.", List.of("bw", "-d", device, "-l",
                    Integer.toString(burst), "-Q", Integer.toString(Math.max(1, burst / 2)), "-D", seconds, "--json"),
                    TOOL_BUDGET_SECONDS, false));
        }
        all.add(new Measurement("lat", "Half of the round trip of single frames, by the schedule and by the send.",
                List.of("lat", "-d", device, "-D", seconds, "--json"), TOOL_BUDGET_SECONDS, false));
        all.add(new Measurement("flow-rate", "Rules made and removed per second: how fast connections can come and go.",
                List.of("flow-rate", "-d", device, "--json"), TOOL_BUDGET_SECONDS, false));
        return all;
    }

    /** Ours beside epoll, by a bench that is in the report with all transports too. */
    private static Measurement beside(String bench, String name, boolean quick, String serves, String... options) {
        List<String> arguments = new ArrayList<>(List.of("bench", bench));
        if (quick) {
            arguments.add("--quick");
        }
        arguments.addAll(List.of(options));
        arguments.addAll(List.of("--transport", "rdma-raw,epoll", "--json"));
        return new Measurement(name, serves, arguments, BUDGET_SECONDS.get(name), false);
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
                    || quick && NOT_QUICK.contains(spec.name())) {
                continue;
            }
            List<String> arguments = new ArrayList<>(List.of("bench", spec.name(), "--json"));
            if (quick && spec.findOption("--quick") != null) {
                arguments.add(2, "--quick");
            }
            benches.add(new Measurement(spec.name(), String.join(" ", spec.usageMessage().description()), arguments,
                    BUDGET_SECONDS.getOrDefault(spec.name(), USUAL_BUDGET_SECONDS), false));
        }
        return benches;
    }
}
