package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.process.CompilerTime;
import io.rdmaraw.microbench.process.CpuTimes;
import io.rdmaraw.microbench.process.ProcessAffinity;
import io.rdmaraw.microbench.process.RunQueueDelay;
import io.rdmaraw.microbench.profile.LoopShares;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * One server on one transport after the other, in turns, under the same generators: answers per second of the server's
 * processor time, of all processor time, and of the clock. The server has a core to itself, and so has the generator;
 * on which of them the kernel receives is the {@link Arrangement}'s. Each transport has a process and a network of its
 * own, so that nothing of one, such as an XDP program, is in the way of another.
 */
final class ServerBench {
    private static final int PORT = 5300;
    private static final int GENERATOR_CORE = 0;
    static final int SERVER_CORE = 1;
    private static final double PERCENT = 100;
    /** A generator under a profiler begins earlier and ends later. */
    private static final double PROFILE_MARGIN_SECONDS = 1;

    /** A compiler that used less than this share of a second has finished. */
    private static final double COMPILED_SHARE = 0.05;

    /**
     * The size of the measurement.
     *
     * @param warmUpRuns  at most, of each server and generator, until its JIT compiler is done
     * @param transports  the first of which is ours
     * @param arrangement of the veth pair
     */
    record Options(int runs, double runSeconds, int warmUpRuns, List<ServerTransport> transports,
            Offloads offloads, Arrangement arrangement) {
        /** Returns the size that benches of servers have, of which a quick one has less. */
        static Options of(boolean quick, int runs, List<ServerTransport> transports, Offloads offloads,
                Arrangement arrangement) {
            return quick ? new Options(runs, 1, 9, transports, offloads, arrangement)
                    : new Options(runs, 3, 20, transports, offloads, arrangement);
        }
    }

    /** The figures of one generator on one transport, run by run. */
    private static final class Series {
        private final Map<Measure, List<Double>> values = new EnumMap<>(Measure.class);
        private long lost;

        private List<Double> of(Measure measure) {
            return values.computeIfAbsent(measure, m -> new ArrayList<>());
        }
    }

    private final String name;
    private final List<LoadGenerator> generators;
    private final Options options;
    private final PrintWriter progress;
    private final Optional<LoopShares> loopShares = LoopShares.find();

    /** @param name the bench's, as in {@code bench dns} */
    ServerBench(String name, List<LoadGenerator> generators, Options options, PrintWriter progress) {
        this.name = name;
        this.generators = generators;
        this.options = options;
        this.progress = progress;
    }

    /** Adds what it measures to a report. */
    void run(BenchReport report) {
        ServerNetwork.require("taskset", "util-linux");
        List<Map<ServerTransport, Series>> all = new ArrayList<>();
        generators.forEach(generator -> all.add(new EnumMap<>(ServerTransport.class)));
        Map<ServerTransport, Stand> stands = new EnumMap<>(ServerTransport.class);
        try (ProcessAffinity _ = ProcessAffinity.pinnedTo(GENERATOR_CORE)) {
            for (ServerTransport transport : options.transports()) {
                say("warming up " + transport.text());
                stands.put(transport, warmedUp(transport));
            }
            for (int run = 1; run <= options.runs(); run++) {
                say(name + ", " + options.arrangement().text() + ", run " + run + " of " + options.runs());
                for (int i = 0; i < generators.size(); i++) {
                    measure(run, generators.get(i), stands, all.get(i), report);
                    report(caseName(generators.get(i)), all.get(i), report);
                }
            }
            stands.forEach((transport, stand) -> tellShares(transport, stand, report));
        } finally {
            stands.values().forEach(Stand::close);
        }
        for (int i = 0; i < generators.size(); i++) {
            tellLosses(caseName(generators.get(i)), all.get(i));
        }
    }

    /** Tells where the time of the server's loops goes, of each generator that wants it. */
    private void tellShares(ServerTransport transport, Stand stand, BenchReport report) {
        for (LoadGenerator generator : generators) {
            if (generator.wantsShares() && loopShares.isPresent()) {
                say("profiling " + transport.text());
                Thread load = Thread.ofPlatform().start(() -> generator.run(stand.network(), pinnedTo(GENERATOR_CORE),
                        PORT, options.runSeconds() + 2 * PROFILE_MARGIN_SECONDS));
                loopShares.get().sample(stand.server().pid(), PROFILE_MARGIN_SECONDS, options.runSeconds())
                        .forEach((layer, percent) -> report.add(BenchRow.of(caseName(generator) + ".share." + layer,
                                transport.text(), transport.device(), Unit.PERCENT_OF_LOOP, List.of(percent))));
                joined(load);
            }
        }
    }

    private static void joined(Thread load) {
        try {
            load.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void say(String what) {
        progress.println(what);
        progress.flush();
    }

    private String caseName(LoadGenerator generator) {
        return options.arrangement().casePrefix() + generator.caseName();
    }

    private static List<String> pinnedTo(int core) {
        return List.of("taskset", "-c", Integer.toString(core));
    }

    /** A server in a process of its own, on a network of its own; it costs nothing while no client sends requests. */
    private record Stand(ServerNetwork network, PeerProcess server) {
        void close() {
            server.close();
            network.close();
        }
    }

    /**
     * Until its code is compiled, a server spends more time on the compiler than on its clients. The generators run in
     * turns, as they do in the measurement, until a whole round of them leaves the compiler nothing to do: code that
     * was compiled for many connections is compiled again for one, and vice versa, and what was compiled while requests
     * came is compiled again when connections end and others begin. So runs are counted here and not seconds.
     */
    private Stand warmedUp(ServerTransport transport) {
        Stand stand = start(transport);
        try {
            List<LoadGenerator> round = generators.stream().filter(LoadGenerator::warmsUp).toList();
            int most = options.warmUpRuns() * (1 + round.size()) / 2;
            int runs = 0;
            double compiled;
            do {
                compiled = 0;
                for (LoadGenerator generator : round) {
                    compiled = Math.max(compiled, compiledPerSecond(stand, generator));
                    runs++;
                }
            } while (compiled >= COMPILED_SHARE && runs < most);
            if (compiled >= COMPILED_SHARE) {
                say(String.format(Locale.ROOT, "%s: its JIT compiler is still busy for %.0f %% of a core after %d runs,"
                        + " and its figures have that in them", transport.text(), compiled * PERCENT, runs));
            }
            return stand;
        } catch (RuntimeException e) {
            stand.close();
            throw e;
        }
    }

    private static double compiledPerSecond(Stand stand, LoadGenerator generator) {
        double before = CompilerTime.seconds(stand.server().pid());
        generator.run(stand.network(), pinnedTo(GENERATOR_CORE), PORT, generator.warmUpSeconds());
        return (CompilerTime.seconds(stand.server().pid()) - before) / generator.warmUpSeconds();
    }

    private Stand start(ServerTransport transport) {
        ServerNetwork network = new ServerNetwork(options.offloads());
        try {
            options.arrangement().applyTo(network, SERVER_CORE, GENERATOR_CORE);
            LoadGenerator first = generators.getFirst();
            List<String> words = new ArrayList<>(List.of(first.options(transport, network.serverInterface())));
            words.addAll(List.of("--port", Integer.toString(PORT)));
            return new Stand(network, network.start(pinnedTo(SERVER_CORE), first.serverCommand(),
                    words.toArray(String[]::new)));
        } catch (RuntimeException e) {
            network.close();
            throw e;
        }
    }

    /** Runs one generator against all servers in turn. */
    private void measure(int run, LoadGenerator generator, Map<ServerTransport, Stand> stands,
            Map<ServerTransport, Series> series, BenchReport report) {
        stands.forEach((transport, stand) -> {
            Load load = measure(stand, generator, series.computeIfAbsent(transport, t -> new Series()));
            if (load.doubtOrNull() != null) {
                String what = caseName(generator) + " on " + transport.text() + ", run " + run;
                say("rdma-raw: " + what + ": " + load.doubtOrNull());
                report.addNotMeasured(what + ", without the generator", load.doubtOrNull());
            }
        });
    }

    private Load measure(Stand stand, LoadGenerator generator, Series series) {
        RunQueueDelay waitedBefore = RunQueueDelay.read(stand.server().pid());
        CpuTimes before = CpuTimes.read(SERVER_CORE);
        long start = System.nanoTime();
        Load load = generator.run(stand.network(), pinnedTo(GENERATOR_CORE), PORT, options.runSeconds());
        double seconds = (System.nanoTime() - start) / 1e9;
        CpuTimes.Spent spent = CpuTimes.read(SERVER_CORE).since(before);
        double waited = RunQueueDelay.read(stand.server().pid()).busiestWaitedSecondsSince(waitedBefore);
        Map<Measure, Double> figures = new EnumMap<>(Measure.class);
        figures.put(Measure.WAITED, PERCENT * waited / seconds);
        figures.put(Measure.PER_SERVER_CPU, load.answers() / spent.serverSeconds());
        figures.put(Measure.PER_MACHINE_CPU, load.answers() / spent.machineSeconds());
        figures.put(Measure.SERVER_CPU, PERCENT * spent.serverSeconds() / load.loadSeconds());
        figures.put(Measure.RATE, load.answers() / seconds);
        figures.putAll(load.figures());
        figures.forEach((measure, value) -> series.of(measure).add(value));
        series.lost += load.lost();
        generator.measured(figures.get(Measure.RATE));
        return load;
    }

    private void report(String caseName, Map<ServerTransport, Series> series, BenchReport report) {
        for (Measure measure : Measure.values()) {
            if (options.arrangement().tells(measure) && isComplete(measure, series.values())) {
                report(caseName + measure.suffix(), measure, series, report);
            }
        }
    }

    /** Tells whether each run on each transport has the figure: wrk has no p99 of some. */
    private static boolean isComplete(Measure measure, Collection<Series> series) {
        int runs = series.stream().mapToInt(each -> each.of(measure).size()).max().orElse(0);
        return runs > 0 && series.stream().map(each -> each.of(measure))
                .allMatch(values -> values.size() == runs && values.stream().noneMatch(value -> value.isNaN()));
    }

    private static void report(String name, Measure measure, Map<ServerTransport, Series> series, BenchReport report) {
        ServerTransport us = ServerTransport.RDMA_RAW;
        List<Double> ours = series.get(us).of(measure);
        boolean alone = series.size() == 1 || !measure.isCompared();
        series.forEach((transport, s) -> {
            if (transport != us) {
                report.add(BenchRow.of(name, transport.text(), transport.device(), measure.unit(), s.of(measure)));
            }
        });
        series.forEach((transport, s) -> {
            if (transport != us && !alone) {
                report.add(BenchRow.compared(name, us.text(), us.device(), measure.unit(), ours, transport.text(),
                        s.of(measure)));
            }
        });
        if (alone) {
            report.add(BenchRow.of(name, us.text(), us.device(), measure.unit(), ours));
        }
    }

    private void tellLosses(String caseName, Map<ServerTransport, Series> series) {
        series.forEach((transport, s) -> {
            if (s.lost > 0) {
                say(String.format(Locale.ROOT, "%s on %s: %d of %s were lost or wrong", caseName, transport.text(),
                        s.lost, "the questions"));
            }
        });
    }
}
