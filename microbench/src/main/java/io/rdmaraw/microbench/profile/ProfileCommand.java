package io.rdmaraw.microbench.profile;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.Environment;
import io.rdmaraw.tools.output.Json;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Implements {@code rdma-raw profile}. */
@Command(name = "profile", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = {"Keeps one path through the transport busy in a process of its own, samples its event loops, and"
                + " tells where their time goes: by layer, by method, and as a page to look at.",
            "rx, echo: frames in bursts of 64, which the loop's own thread sends to it (that part is left out); udp: 64"
                + " datagrams to and fro on one loop; tcp: requests on 64 connections, a loop for each end. All are on"
                + " soft:loop, or with --wire, as root, on AF_XDP over a veth pair under the generators of bench wire"
                + " and bench tcp.",
            "async-profiler sees C and the kernel too; the launcher gets it from Maven Central. Without it the flight"
                + " recorder of the JDK is used."})
public final class ProfileCommand implements Callable<Integer> {
    enum Source {
        ASYNC, JFR
    }

    @Parameters(arity = "0..1", paramLabel = "PATH|PID", description = "rx, echo, udp or tcp, or a process")
    private String what;

    @Option(names = "--pid", paramLabel = "PID", description = "the same for a process")
    private Long pid;

    @Option(names = "--wire", description = "on AF_XDP over a veth pair, as root; echo, udp and tcp")
    private boolean wire;

    @Option(names = {"-D", "--seconds"}, paramLabel = "S", defaultValue = "10", description = "of samples, 0.1 to 3600")
    private double seconds;

    @Option(names = "--warm-up", paramLabel = "S", defaultValue = "5", description = "before them, for the compiler")
    private double warmUpSeconds;

    @Option(names = "--out", paramLabel = "FILE",
            description = "the page; rdma-raw-profile-PATH.html if it is not said")
    private Path out;

    @Option(names = "--profiler", paramLabel = "WHICH",
            description = "async or jfr; by default async if it is installed")
    private Source source;

    @Option(names = "--json", description = "print the costs as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    private ProfiledPath path;

    @Override
    public Integer call() throws InterruptedException {
        readArgument();
        check((path == null) != (pid == null), "say what to profile: rx, echo, udp or tcp, or the number of a process");
        check(!wire || pid == null && path != ProfiledPath.RX, "--wire is for echo, udp and tcp");
        check(seconds >= 0.1 && seconds <= 3600, "--seconds must be 0.1 to 3600");
        check(warmUpSeconds >= 0 && warmUpSeconds <= 3600, "--warm-up must be 0 to 3600");
        Profiler profiler = profiler();
        PrintWriter progress = spec.commandLine().getErr();
        if (pid == null) {
            Environment.warnIfBusy(progress);
        }
        Path page = out != null ? out : Path.of("rdma-raw-profile-" + (pid == null
                ? path.name().toLowerCase(Locale.ROOT) + (wire ? "-wire" : "") : pid) + ".html");
        Samples samples;
        String title;
        try (Load load = load()) {
            title = load.title();
            progress.println(title);
            progress.flush();
            if (pid == null) {
                TimeUnit.NANOSECONDS.sleep((long) (warmUpSeconds * 1e9));
            }
            samples = profiler.sample(load.pid(), seconds, title, page);
        }
        if (samples.count() == 0) {
            throw new ToolException("no sample of an event loop: does the process have event loops that are busy?");
        }
        print(title, new Costs(samples), page);
        return 0;
    }

    private void readArgument() {
        if (what == null) {
            return;
        }
        if (what.matches("\\d{1,18}")) {
            check(pid == null, "one process, please");
            pid = Long.valueOf(what);
            return;
        }
        path = Arrays.stream(ProfiledPath.values()).filter(each -> each.name().equalsIgnoreCase(what)).findFirst()
                .orElseThrow(() -> new ParameterException(spec.commandLine(), "there is no path '" + what
                        + "': it is rx, echo, udp or tcp, or the number of a process"));
    }

    private Load load() {
        if (pid != null) {
            return Loads.ofProcess(pid);
        }
        return wire ? Loads.onWire(path) : Loads.inMemory(path);
    }

    private Profiler profiler() {
        Optional<AsyncProfiler> async = source == Source.JFR ? Optional.empty() : AsyncProfiler.find();
        if (source == Source.ASYNC && async.isEmpty()) {
            throw new ToolException("async-profiler is not in microbench/target/profiler: run this by"
                    + " ./rdma-raw profile, which gets it from Maven Central, or take --profiler jfr");
        }
        return async.isPresent() ? async.get() : new FlightRecorder();
    }

    private void print(String title, Costs costs, Path page) {
        PrintWriter printer = spec.commandLine().getOut();
        if (json) {
            ObjectNode result = costs.toJson();
            Json.print(printer, result.put("what", title).put("page", page.toString()));
            return;
        }
        printer.println(title);
        costs.print(printer);
        printer.println();
        printer.println(page);
        printer.flush();
    }

    private void check(boolean right, String fault) {
        if (!right) {
            throw new ParameterException(spec.commandLine(), fault);
        }
    }
}
