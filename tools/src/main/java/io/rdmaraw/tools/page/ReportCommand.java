package io.rdmaraw.tools.page;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.Main;
import io.rdmaraw.tools.ToolException;
import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.Environment;
import io.rdmaraw.tools.report.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code rdma-raw report}. */
@Command(name = "report", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = {"Runs every bench there is, the JMH suite, bw and lat, and writes what they found to one"
                + " page that"
                + " needs nothing else (report.html) and to report.json: tables with ratios and their spread,"
                + " charts, the"
                + " machine, the versions, the exact commands.",
            "What cannot run here is named with the reason. Close other programs first."})
public final class ReportCommand implements Callable<Integer> {
    private static final double QUICK_SECONDS = 570;
    private static final double QUICK_LIMIT_SECONDS = 150;
    private static final double FULL_LIMIT_SECONDS = 1_800;
    private static final double LEAST_SECONDS = 5;
    private static final String MICROBENCH = "microbench";

    @Option(names = "--out", paramLabel = "DIR", defaultValue = "rdma-raw-report", description = "made if not there")
    private Path directory;

    @Option(names = "--quick", description = "less of each: ends within 10 minutes")
    private boolean quick;

    @Option(names = "--only", paramLabel = "NAME", split = ",", description = "these alone, such as frames,lat")
    private List<String> only = new ArrayList<>();

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "the device of bw and lat; the benches have their own")
    private String device;

    @Spec
    private CommandSpec spec;

    private PrintWriter err;

    @Override
    public Integer call() throws InterruptedException {
        err = spec.commandLine().getErr();
        List<Measurement> wanted = Measurements.all(quick, device).stream().filter(m -> isWanted(m.name())).toList();
        boolean withMicrobench = isWanted(MICROBENCH);
        if (wanted.isEmpty() && !withMicrobench) {
            throw new ParameterException(spec.commandLine(), "--only: there are " + String.join(", ",
                    Measurements.all(quick, device).stream().map(Measurement::name).toList()) + ", " + MICROBENCH);
        }
        BenchReport.warnIfBusy(err);
        ObjectNode machine = Environment.machine();
        String date = ZonedDateTime.now().format(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm zzz", Locale.ROOT));
        List<MeasurementRun> runs = measure(wanted, withMicrobench);
        write(machine, date, runs);
        return runs.stream().allMatch(run -> run.result() == null) ? Main.EXIT_FAILED : 0;
    }

    private boolean isWanted(String name) {
        return only.isEmpty() || only.stream().anyMatch(each -> name.equals(each) || name.startsWith(each + '.'));
    }

    private List<MeasurementRun> measure(List<Measurement> wanted, boolean withMicrobench) throws InterruptedException {
        long start = System.nanoTime();
        List<MeasurementRun> runs = new ArrayList<>();
        for (Measurement measurement : wanted) {
            double limit = limit(start);
            err.println(measurement.commandLine());
            err.flush();
            runs.add(noted(limit < LEAST_SECONDS ? MeasurementRun.skipped(measurement, "the ten minutes were over")
                    : MeasurementRun.run(measurement, limit)));
        }
        if (withMicrobench) {
            err.println(MICROBENCH + " (JMH)");
            err.flush();
            runs.add(noted(Microbenches.run(quick, Math.max(LEAST_SECONDS, limit(start)))));
        }
        return runs;
    }

    private double limit(long startNanos) {
        return quick ? Math.min(QUICK_LIMIT_SECONDS, QUICK_SECONDS - (System.nanoTime() - startNanos) / 1e9)
                : FULL_LIMIT_SECONDS;
    }

    private MeasurementRun noted(MeasurementRun run) {
        err.println(String.format(Locale.ROOT, "  %s, %.0f s", run.result() != null ? "done" : run.failure(),
                run.seconds()));
        err.flush();
        return run;
    }

    private void write(ObjectNode machine, String date, List<MeasurementRun> runs) {
        String command = "./rdma-raw report" + (quick ? " --quick" : "") + (only.isEmpty() ? "" : " --only "
                + String.join(",", only));
        ObjectNode json = Json.object();
        json.put("report", "netty-transport-rdma-raw").put("date", date).put("command", command);
        json.set("machine", machine);
        json.set("versions", Environment.versions());
        ArrayNode array = json.putArray("measurements");
        for (MeasurementRun run : runs) {
            ObjectNode each = array.addObject().put("name", run.measurement().name())
                    .put("serves", run.measurement().serves()).put("command", run.measurement().commandLine())
                    .put("seconds", Json.rounded(run.seconds()));
            if (run.result() != null) {
                each.set("result", run.result());
            } else {
                each.put("failure", run.failure());
            }
        }
        try {
            Files.createDirectories(directory);
            Path page = directory.resolve("report.html");
            Files.writeString(page, new Page(machine, Environment.versions(), command, date, runs).render(style()));
            Path data = directory.resolve("report.json");
            Files.writeString(data, new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(json)
                    + '\n');
            spec.commandLine().getOut().println(page + System.lineSeparator() + data);
            spec.commandLine().getOut().flush();
        } catch (IOException e) {
            throw new ToolException("cannot write to " + directory + ": " + e.getMessage(), e);
        }
    }

    private static String style() throws IOException {
        try (InputStream in = ReportCommand.class.getResourceAsStream("report.css")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
