package io.rdmaraw.tools.page;

import io.rdmaraw.tools.bench.BenchCommand;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * What a report runs: every subcommand of {@code bench}, which is the registry of benches, and runs of {@code bw} and
 * {@code lat}. A bench that is added there is in the next report.
 */
final class Measurements {
    private static final int[] BURSTS = {1, 4, 16, 64};
    private static final int[] QUICK_BURSTS = {1, 8, 64};

    private Measurements() {
    }

    static List<Measurement> all(boolean quick, String device) {
        List<Measurement> all = new ArrayList<>(benches(quick));
        String seconds = quick ? "1" : "3";
        for (int burst : quick ? QUICK_BURSTS : BURSTS) {
            all.add(new Measurement("bw.burst" + burst, "frames per second by the frames posted with one doorbell,"
                    + " without"
                    + " a pipeline: what the device and the calls allow", List.of("bw", "-d", device, "-l",
                    Integer.toString(burst), "-Q", Integer.toString(Math.max(1, burst / 2)), "-D", seconds, "--json")));
        }
        all.add(new Measurement("lat", "half of the round trip of single frames, by the schedule and by the send",
                List.of("lat", "-d", device, "-D", seconds, "--json")));
        all.add(new Measurement("flow-rate", "rules made and removed per second: how fast connections can come and go",
                List.of("flow-rate", "-d", device, "--json")));
        return all;
    }

    private static List<Measurement> benches(boolean quick) {
        List<Measurement> benches = new ArrayList<>();
        for (CommandLine bench : new CommandLine(new BenchCommand()).getSubcommands().values()) {
            CommandSpec spec = bench.getCommandSpec();
            if (spec.usageMessage().hidden() || spec.findOption("--json") == null) {
                continue;
            }
            List<String> arguments = new ArrayList<>(List.of("bench", spec.name(), "--json"));
            if (quick && spec.findOption("--quick") != null) {
                arguments.add(2, "--quick");
            }
            benches.add(new Measurement(spec.name(), String.join(" ", spec.usageMessage().description()), arguments));
        }
        return benches;
    }
}
