package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.TransportNames;
import io.rdmaraw.examples.server.Tuning.Channels;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import io.rdmaraw.microbench.result.RowsOnSignal;
import io.rdmaraw.microbench.rival.RivalOptions;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.output.Environment;
import io.rdmaraw.tools.output.Json;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Implements {@code rdma-raw bench tcp}. */
@Command(name = "tcp", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "TCP channels between two event loops: on the loop device, and on Netty's epoll, io_uring and"
                + " NIO over the kernel's loopback, in turns. As root, also a server on a veth pair of its own, on"
                + " AF_XDP and on the three others, under a client on epoll. Each transport has its own process."
                + " perServerCpu counts the processor time of the server's loop (tcp.loop), or all work of the server's"
                + " core, including what the kernel receives for the server in soft interrupts (tcp.wire);"
                + " perMachineCpu counts the work of all cores, including the client's. With --polled, whose client"
                + " never sleeps, there is no perMachineCpu.")
public final class TcpCommand implements Callable<Integer> {
    /** Minimum number of runs for a meaningful spread of ratios. */
    private static final int QUICK_RUNS = 3;
    /** All cases except the slow ones and those over veth that add nothing to the case with 64 connections. */
    private static final Pattern QUICK_CASES =
            Pattern.compile("^tcp\\.((?:wire|polled)\\.(?!rr\\.conns1000|hostile)|"
                    + "loop\\.(?!rr\\.conns10000|bulk|idle))");

    @Option(names = "--runs", paramLabel = "N", defaultValue = "5", description = "runs of each case, 1 to 100")
    private int runs;

    @Option(names = "--quick", description = "3 short runs: about two minutes. Unless --case asks for them it leaves"
            + " out 10,000 connections, bulk and heap on the loop device, 1,000 connections over veth, hostile peers,"
            + " and the flood on io_uring and NIO")
    private boolean quick;

    @Option(names = {"-D", "--seconds"}, paramLabel = "N", description = "length of each measurement, instead of 2,"
            + " or of 0.4 with --quick")
    private Double seconds;

    @Option(names = "--loop-only", description = "only what needs neither root nor a network")
    private boolean loopOnly;

    @Option(names = "--wire-only", description = "only what runs over veth")
    private boolean wireOnly;

    @Option(names = "--transport", paramLabel = "T", split = ",", defaultValue = "rdma-raw,epoll,io_uring,nio",
            converter = TransportNames.class, description = "the transports, separated by commas")
    private List<Transport> wanted;

    @Mixin
    private RivalOptions rivals;

    @Option(names = "--case", paramLabel = "REGEX", defaultValue = "",
            description = "only cases whose names match, such as 'loop.rr' or 'conns64$'")
    private Pattern only;

    @Option(names = "--device-kind", paramLabel = "KIND", defaultValue = "xdp",
            description = "our server's device over veth: xdp or packet")
    private String deviceKind;

    @Mixin
    private OffloadsOption veth;

    @Option(names = "--polled", description = "over veth, have a client of ours on soft:xdp that does not sleep while"
            + " it waits, instead of one on epoll, and the cases rr alone (tcp.polled): with one connection, what a"
            + " request waits for the server")
    private boolean polled;

    @Option(names = "--flood-kind", paramLabel = "KIND", defaultValue = "syn", converter = FloodKinds.class,
            completionCandidates = FloodKinds.class,
            description = "what the case 'flood' sends: ${COMPLETION-CANDIDATES}")
    private FloodKind flood;

    @Option(names = "--json", description = "print the result as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (runs < 1 || runs > 100) {
            throw new ParameterException(spec.commandLine(), "--runs must be 1 to 100");
        }
        if (seconds != null && !(seconds > 0 && seconds <= 86_400)) {
            throw new ParameterException(spec.commandLine(), "--seconds must be more than 0, and a day at most");
        }
        if (!deviceKind.equals("xdp") && !deviceKind.equals("packet")) {
            throw new ParameterException(spec.commandLine(), "--device-kind must be xdp or packet");
        }
        if (polled && loopOnly) {
            throw new ParameterException(spec.commandLine(), "--polled is for what runs over veth, not --loop-only");
        }
        PrintWriter progress = spec.commandLine().getErr();
        Environment.warnIfBusy(progress);
        BenchReport report = new BenchReport("tcp");
        boolean some = quick && only.pattern().isEmpty();
        StreamOptions options = new StreamOptions(usable(progress), quick ? Math.min(runs, QUICK_RUNS) : runs, some,
                quick ? 0.3 : 1, secondsOrDefault(), "soft:" + deviceKind, veth.offloads(), polled, flood,
                some ? QUICK_CASES : only);
        int exitCode = RowsOnSignal.run(() -> measure(options, report, progress), progress, this::print);
        return exitCode != 0 || report.hasRows() ? exitCode : ExitCode.FAILED;
    }

    private BenchReport measure(StreamOptions options, BenchReport report, PrintWriter progress)
            throws InterruptedException {
        if (!loopOnly) {
            measureWire(options, report, progress);
        }
        if (!wireOnly) {
            new LoopStreams(options, progress).addTo(report);
        }
        return report;
    }

    private void print(BenchReport report) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, report.toJson());
        } else {
            report.printTable(out);
        }
    }

    private double secondsOrDefault() {
        return seconds != null ? seconds : quick ? 0.4 : 2;
    }

    private List<TunedTransport> usable(PrintWriter progress) {
        List<TunedTransport> usable = new ArrayList<>();
        for (Transport transport : wanted) {
            Throwable cause = transport.unavailabilityCause();
            if (cause == null) {
                rivals.settings(transport, Channels.STREAM)
                        .forEach(tuning -> usable.add(new TunedTransport(transport, tuning)));
            } else {
                progress.println("rdma-raw: " + transport + " is left out: " + cause.getMessage());
            }
        }
        return usable;
    }

    private static void measureWire(StreamOptions options, BenchReport report, PrintWriter progress)
            throws InterruptedException {
        try {
            new WireStreams(options, progress).addTo(report);
        } catch (ToolException e) {
            progress.println("rdma-raw: the cases over veth are left out: " + e.getMessage());
            report.addNotMeasured(options.polled() ? "tcp.polled" : "tcp.wire", e.getMessage());
        }
    }
}
