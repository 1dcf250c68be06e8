package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.examples.server.Tuning.Channels;
import io.rdmaraw.microbench.result.BenchOptions;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.OffloadsOption;
import io.rdmaraw.microbench.rival.RivalProfile;
import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Implements {@code rdma-raw bench rivals}. */
@Command(name = "rivals", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on veth pairs: measures settings of Netty's epoll and io_uring, each in turns with the"
                + " stock transport, under dnsperf, wrk and our own clients. It chooses nothing: the profile of tuned"
                + " rivals is written in the code. With --quick it runs for about 15 minutes.")
public final class RivalsCommand implements Callable<Integer> {
    private static final int QUICK_RUNS = 5;
    private static final int CONNECTIONS = 64;

    /** The loads under which settings are measured. */
    private enum Sweep {
        DNS, HTTP, LARGE, REDIS, WEBSOCKET;

        private static final Set<Sweep> QUICK = EnumSet.of(DNS, HTTP, LARGE);

        private String text() {
            return name().toLowerCase(Locale.ROOT);
        }

        private List<LoadGenerator> generators() {
            return switch (this) {
                case DNS -> List.of(new Dnsperf());
                case HTTP -> List.of(wrk(HttpShape.PLAINTEXT), wrk(HttpShape.SHORT));
                case LARGE -> List.of(wrk(HttpShape.LARGE));
                case REDIS -> PolledLoad.of(RequestKind.REDIS, List.of(CONNECTIONS));
                case WEBSOCKET -> PolledLoad.of(RequestKind.WEBSOCKET, List.of(CONNECTIONS));
            };
        }

        private static Wrk wrk(HttpShape shape) {
            return new Wrk(HttpTls.NONE, shape, CONNECTIONS, new EqualLoad(0));
        }

        /** Parses the names in the options of commands. */
        private static final class Names extends OptionNames<Sweep> {
            private static final long serialVersionUID = 1L;

            /** Called by picocli. */
            private Names() {
                super(values(), Sweep::text);
            }
        }
    }

    @Mixin
    private BenchOptions options;

    @Option(names = "--sweep", paramLabel = "LOAD", split = ",", converter = Sweep.Names.class,
            completionCandidates = Sweep.Names.class, description = "the loads, separated by commas:"
                    + " ${COMPLETION-CANDIDATES}; large is HTTP with answers of 64 KB; default all, and dns,http,large"
                    + " with --quick")
    private Set<Sweep> sweeps;

    @Option(names = "--tuning", paramLabel = "T", split = ",", converter = Tuning.Names.class,
            completionCandidates = Tuning.Names.class, description = "measure only the settings that include one of"
                    + " these, separated by commas")
    private Set<Tuning> only;

    @Option(names = "--page", paramLabel = "FILE",
            description = "also write the result into a Markdown file, between its comments for it")
    private Path page;

    @Mixin
    private OffloadsOption veth;

    @Mixin
    private ArrangementOption arrangement;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        int runs = options.runs(QUICK_RUNS);
        if (page != null) {
            // An unsuitable file must fail before the measurement, not after it.
            RivalsPage.requireSection(read(page));
        }
        return options.print(() -> {
            BenchReport report = new BenchReport(spec.name());
            for (Arrangement each : arrangement.arrangements()) {
                for (Sweep sweep : sweeps != null ? sweeps : options.quick() ? Sweep.QUICK
                        : EnumSet.allOf(Sweep.class)) {
                    for (Contender candidate : candidates(sweep)) {
                        measure(sweep, candidate, runs, each, report);
                    }
                }
            }
            if (page != null) {
                write(page, RivalsPage.replaceIn(read(page), report.toJson(), runs, options.quick()));
            }
            return report;
        });
    }

    /** Measures one setting. If the kernel does not support it, the sweep continues with the next one. */
    private void measure(Sweep sweep, Contender candidate, int runs, Arrangement each, BenchReport report) {
        ServerBench.Options how = ServerBench.Options.of(options.quick(), runs, List.of(candidate,
                Contender.stock(candidate.transport())), veth.offloads(), each);
        try {
            new ServerBench(spec.name() + ' ' + candidate.text(), sweep.generators(), how, options.progress())
                    .run(report);
        } catch (ToolException e) {
            options.progress().println("rdma-raw: " + candidate.text() + " is left out: " + e.getMessage());
            report.addNotMeasured(sweep.text() + ", " + candidate.text(), e.getMessage());
        }
    }

    private List<Contender> candidates(Sweep sweep) {
        List<Contender> candidates = new ArrayList<>();
        for (ServerTransport transport : List.of(ServerTransport.EPOLL, ServerTransport.IO_URING)) {
            settings(transport.transport(), sweep == Sweep.DNS ? Channels.DATAGRAM : Channels.STREAM,
                    sweep == Sweep.LARGE).stream()
                    .filter(tuning -> only == null || tuning.stream().anyMatch(only::contains))
                    .map(tuning -> Contender.candidate(transport, tuning)).forEach(candidates::add);
        }
        return candidates;
    }

    /**
     * Returns the sets of settings to measure: each setting alone, and the profile if it has several. {@code busy-poll}
     * is excluded, because it has no effect on a veth pair without NAPI.
     *
     * @param large whether the answers are large; then only {@code zero-copy} is measured
     */
    static Set<Set<Tuning>> settings(Transport transport, Channels channels, boolean large) {
        Set<Set<Tuning>> settings = new LinkedHashSet<>();
        for (Tuning each : Tuning.values()) {
            if (each.isFor(transport, channels) && large == (each == Tuning.ZERO_COPY) && each != Tuning.BUSY_POLL) {
                // Bundles require a buffer ring.
                settings.add(each == Tuning.BUNDLES ? EnumSet.of(Tuning.BUFFER_RING, each) : EnumSet.of(each));
            }
        }
        Set<Tuning> profile = RivalProfile.tuned(transport, channels);
        if (!large && !profile.isEmpty()) {
            settings.add(profile);
        }
        return settings;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new ToolException("cannot read " + file + ": " + e.getMessage(), e);
        }
    }

    private static void write(Path file, String text) {
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new ToolException("cannot write " + file + ": " + e.getMessage(), e);
        }
    }
}
