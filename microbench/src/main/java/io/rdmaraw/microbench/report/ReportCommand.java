package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.Environment;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.run.EndOnSignal;
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
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Implements {@code rdma-raw report}. */
@Command(name = "report", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = {"Runs every bench there is, the JMH suite, bw, lat and flow-rate, and writes what they found to"
                + " one page that needs nothing else (report.html) and to report.json: tables with ratios and their"
                + " spread, charts, the machine, the versions, the exact commands.",
            "What cannot run here is named with the reason, and the rest goes on. Close other programs first."})
public final class ReportCommand implements Callable<Integer> {
    static final double QUICK_SECONDS = 705;
    /** Share of the later budgets that is reserved. It is less than 1 because some measurements end early. */
    private static final double KEPT_SHARE = 0.85;
    private static final double FULL_LIMIT_SECONDS = 3_600;
    private static final String PAGE = "report.html";
    private static final String DATA = "report.json";

    @Option(names = "--out", paramLabel = "DIR", defaultValue = "rdma-raw-report", description = "made if not there")
    private Path directory;

    @Option(names = "--quick", description = "less of each: ends within 12 minutes")
    private boolean quick;

    @Option(names = "--only", paramLabel = "NAME", split = ",", description = "these alone, such as frames,lat")
    private List<String> only = new ArrayList<>();

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "the device of bw, lat and flow-rate; the benches have their own")
    private String device;

    @Option(names = "--from", paramLabel = "FILE",
            description = "measure nothing: write the page of what an earlier report.json has")
    private Path from;

    @Option(names = "--readme", paramLabel = "FILE",
            description = "also put the main figures into a Markdown file, between its comments for them")
    private Path readme;

    @Spec
    private CommandSpec spec;

    private PrintWriter err;

    @Override
    public Integer call() throws InterruptedException {
        err = spec.commandLine().getErr();
        Report report;
        if (from != null) {
            report = read(from);
            write(report);
        } else {
            // After Ctrl-C the page contains the results so far.
            try (EndOnSignal keepRunning = new EndOnSignal()) {
                report = measure(keepRunning);
                write(report);
            }
        }
        return report.results().stream().allMatch(result -> result.result() == null) ? ExitCode.FAILED : 0;
    }

    private static Report read(Path file) {
        try {
            return Report.read(file);
        } catch (IOException e) {
            throw new ToolException("cannot read the report " + file + ": " + e.getMessage(), e);
        }
    }

    private Report measure(BooleanSupplier keepRunning) throws InterruptedException {
        List<Measurement> wanted = Measurements.all(quick, device).stream().filter(m -> isWanted(m.name())).toList();
        List<String> microbenches = Microbenches.names().stream().filter(each -> isWanted(Microbenches.nameOf(each)))
                .toList();
        if (wanted.isEmpty() && microbenches.isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--only: there are " + String.join(", ",
                    Measurements.all(quick, device).stream().map(Measurement::name).toList()) + ", "
                    + Microbenches.NAME);
        }
        Environment.warnIfBusy(err);
        ObjectNode machine = Environment.machine();
        String date = ZonedDateTime.now().format(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm zzz", Locale.ROOT));
        long start = System.nanoTime();
        Noise noise = only.isEmpty() ? new Noise() : null;
        List<MeasurementResult> results = measure(wanted, microbenches, start, keepRunning);
        return new Report(machine, Environment.versions(), noise == null ? Json.object() : noise.toJson(), command(),
                date, results);
    }

    private String command() {
        return "./rdma-raw report" + (quick ? " --quick" : "") + (only.isEmpty() ? "" : " --only "
                + String.join(",", only));
    }

    private boolean isWanted(String name) {
        return only.isEmpty() || only.stream().anyMatch(each -> name.equals(each) || name.startsWith(each + '.'));
    }

    private List<MeasurementResult> measure(List<Measurement> wanted, List<String> microbenches, long start,
            BooleanSupplier keepRunning) throws InterruptedException {
        double reserved = wanted.stream().mapToDouble(Measurement::budgetSeconds).sum()
                + (microbenches.isEmpty() ? 0 : Microbenches.QUICK_SECONDS);
        List<MeasurementResult> results = new ArrayList<>();
        for (Measurement measurement : wanted) {
            reserved -= measurement.budgetSeconds();
            if (!keepRunning.getAsBoolean()) {
                results.add(MeasurementResult.failed(measurement, 0, MeasurementProcess.INTERRUPTED));
                continue;
            }
            say(measurement.commandLine());
            results.add(noted(new MeasurementProcess(measurement, limit(measurement.budgetSeconds(), reserved, start),
                    keepRunning).run()));
        }
        for (String each : keepRunning.getAsBoolean() ? microbenches : List.<String>of()) {
            say(Microbenches.nameOf(each) + " (JMH)");
            double budget = Microbenches.QUICK_SECONDS / microbenches.size();
            reserved -= budget;
            results.add(noted(Microbenches.run(each, quick, limit(budget, reserved, start), keepRunning)));
        }
        return results;
    }

    /**
     * Returns the time limit of a measurement. This is its budget, or more if the reserved time of later measurements
     * permits it.
     */
    private double limit(double budgetSeconds, double reservedSeconds, long startNanos) {
        double left = QUICK_SECONDS - (System.nanoTime() - startNanos) / 1e9;
        return !quick ? FULL_LIMIT_SECONDS
                : Math.max(Math.min(budgetSeconds, left), left - KEPT_SHARE * reservedSeconds);
    }

    private void say(String line) {
        err.println(line);
        err.flush();
    }

    private MeasurementResult noted(MeasurementResult result) {
        say(String.format(Locale.ROOT, "  %s, %.0f s", result.failure() == null ? "done" : (result.isInPart()
                ? "IN PART: " : "NOT MEASURED: ") + result.failure(), result.seconds()));
        return result;
    }

    private void write(Report report) {
        Path at = directory;
        try {
            Files.createDirectories(directory);
            report.write(directory.resolve(DATA));
            Files.writeString(directory.resolve(PAGE), new Page(report).render(style()));
            for (Map.Entry<String, String> picture : ReadmeCharts.of(report).entrySet()) {
                Files.writeString(directory.resolve(picture.getKey()), picture.getValue());
            }
            spec.commandLine().getOut().println(directory.resolve(PAGE) + System.lineSeparator()
                    + directory.resolve(DATA));
            if (readme != null) {
                at = readme;
                Files.writeString(readme, ReadmeFigures.replaceIn(Files.readString(readme), report));
                spec.commandLine().getOut().println(readme);
            }
            spec.commandLine().getOut().flush();
        } catch (IOException e) {
            throw new ToolException("cannot write to " + at + ": " + e.getMessage(), e);
        }
    }

    private static String style() throws IOException {
        try (InputStream in = ReportCommand.class.getResourceAsStream("report.css")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
