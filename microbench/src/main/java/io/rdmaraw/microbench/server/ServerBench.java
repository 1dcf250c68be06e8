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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;

/**
 * Measures the same server on several transports with the same generators. The main results are the answers per second
 * of the server's processor time, of all processor time, and of elapsed time.
 *
 * <p>The server and the generator each have a dedicated core. The {@link Arrangement} determines the core on which the
 * kernel receives. Each contender has a separate process and a separate network, so that nothing of it, such as an XDP
 * program, affects another. In each run the contenders are measured one after the other. Every other run has the
 * reverse order, so that a drift of the machine favours none.
 */
final class ServerBench {
    private static final int PORT = 5300;
    private static final int GENERATOR_CORE = 0;
    static final int SERVER_CORE = 1;
    private static final double PERCENT = 100;
    /** Time for which the generator runs before and after the sampling of a profile. */
    private static final double PROFILE_MARGIN_SECONDS = 1;

    /** A JIT compiler is regarded as finished if it uses less than this share of a core. */
    private static final double COMPILED_SHARE = 0.05;

    /**
     * The options of the measurement.
     *
     * @param runs        number of runs
     * @param runSeconds  duration of a run
     * @param warmUpRuns  limit for the warm-up runs of each server and generator
     * @param contenders  servers to measure; the figures of the first one are compared with those of each other one
     * @param offloads    offloads of the veth pair
     * @param arrangement arrangement of the veth pair
     */
    record Options(int runs, double runSeconds, int warmUpRuns, List<Contender> contenders, Offloads offloads,
            Arrangement arrangement) {
        /** Returns the usual options, with a shorter measurement for a quick bench. */
        static Options of(boolean quick, int runs, List<Contender> contenders, Offloads offloads,
                Arrangement arrangement) {
            return quick ? new Options(runs, 1, 9, contenders, offloads, arrangement)
                    : new Options(runs, 3, 20, contenders, offloads, arrangement);
        }
    }

    /** The figures of one generator on one contender, run by run. */
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

    /** @param name name of the bench, as in {@code bench dns} */
    ServerBench(String name, List<LoadGenerator> generators, Options options, PrintWriter progress) {
        this.name = name;
        this.generators = generators;
        this.options = options;
        this.progress = progress;
    }

    /** Measures all contenders and adds the rows to a report. */
    void run(BenchReport report) {
        ServerNetwork.require("taskset", "util-linux");
        List<Map<Contender, Series>> all = new ArrayList<>();
        generators.forEach(_ -> all.add(new LinkedHashMap<>()));
        SequencedMap<Contender, Setup> setups = new LinkedHashMap<>();
        try (ProcessAffinity _ = ProcessAffinity.pinnedTo(GENERATOR_CORE)) {
            for (Contender contender : options.contenders()) {
                say("warming up " + contender.text());
                setups.put(contender, warmedUp(contender));
            }
            for (int run = 1; run <= options.runs(); run++) {
                say(name + ", " + options.arrangement().text() + ", run " + run + " of " + options.runs());
                for (int i = 0; i < generators.size(); i++) {
                    measure(run, generators.get(i), run % 2 == 0 ? setups.reversed() : setups, all.get(i), report);
                    report(caseName(generators.get(i)), all.get(i), report);
                }
            }
            setups.forEach((contender, setup) -> addShares(contender, setup, report));
        } finally {
            setups.values().forEach(Setup::close);
        }
        for (int i = 0; i < generators.size(); i++) {
            printLosses(caseName(generators.get(i)), all.get(i));
        }
    }

    /** Adds the share of each layer in the time of the server's event loop, for each generator that wants them. */
    private void addShares(Contender contender, Setup setup, BenchReport report) {
        for (LoadGenerator generator : generators) {
            if (generator.reportsShares() && loopShares.isPresent()) {
                say("profiling " + contender.text());
                Thread load = Thread.ofPlatform().start(() -> generator.run(setup.network(), pinnedTo(GENERATOR_CORE),
                        PORT, options.runSeconds() + 2 * PROFILE_MARGIN_SECONDS));
                loopShares.get().sample(setup.server().pid(), PROFILE_MARGIN_SECONDS, options.runSeconds())
                        .forEach((layer, percent) -> report.add(BenchRow.of(caseName(generator) + ".share." + layer,
                                contender.text(), contender.device(), Unit.PERCENT_OF_LOOP, List.of(percent))));
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

    /**
     * A server process and its network. Without clients a server uses no processor time. A server that never sleeps is
     * paused by a signal instead.
     */
    private record Setup(ServerNetwork network, PeerProcess server, boolean neverSleeps) {
        void pause() {
            signal("-STOP");
        }

        void resume() {
            signal("-CONT");
        }

        private void signal(String signal) {
            if (neverSleeps) {
                network.serverSide().run("kill", signal, Long.toString(server.pid()));
            }
        }

        void close() {
            // A paused process would not react to the request to end.
            resume();
            server.close();
            network.close();
        }
    }

    /**
     * Starts a server and warms it up until the JIT compiler is idle during a whole round of the generators.
     *
     * <p>The JIT compiler recompiles code when the load changes, for example from many connections to one or when
     * connections end. Every generator must therefore run repeatedly. For this reason the limit counts runs and not
     * seconds.
     */
    private Setup warmedUp(Contender contender) {
        Setup setup = start(contender);
        try {
            List<LoadGenerator> round = generators.stream().filter(LoadGenerator::warmsUp).toList();
            int limit = options.warmUpRuns() * (1 + round.size()) / 2;
            int runs = 0;
            double compiled;
            do {
                compiled = 0;
                for (LoadGenerator generator : round) {
                    compiled = Math.max(compiled, compiledPerSecond(setup, generator));
                    runs++;
                }
            } while (compiled >= COMPILED_SHARE && runs < limit);
            if (compiled >= COMPILED_SHARE) {
                say(String.format(Locale.ROOT, "%s: its JIT compiler still uses %.0f %% of a core after %d runs, which"
                        + " is part of its figures", contender.text(), compiled * PERCENT, runs));
            }
            setup.pause();
            return setup;
        } catch (RuntimeException e) {
            setup.close();
            throw e;
        }
    }

    private static double compiledPerSecond(Setup setup, LoadGenerator generator) {
        double before = CompilerTime.seconds(setup.server().pid());
        generator.run(setup.network(), pinnedTo(GENERATOR_CORE), PORT, generator.warmUpSeconds());
        return (CompilerTime.seconds(setup.server().pid()) - before) / generator.warmUpSeconds();
    }

    private Setup start(Contender contender) {
        ServerNetwork network = new ServerNetwork(options.offloads());
        try {
            options.arrangement().applyTo(network, SERVER_CORE, GENERATOR_CORE);
            LoadGenerator first = generators.getFirst();
            List<String> words = new ArrayList<>(List.of(first.options(contender.transport(),
                    network.serverInterface())));
            words.addAll(contender.tuningOptions());
            words.addAll(List.of("--port", Integer.toString(PORT)));
            return new Setup(network, network.start(pinnedTo(SERVER_CORE), first.serverCommand(),
                    words.toArray(String[]::new)), contender.neverSleeps());
        } catch (RuntimeException e) {
            network.close();
            throw e;
        }
    }

    /** Runs one generator against all servers, one after the other. */
    private void measure(int run, LoadGenerator generator, Map<Contender, Setup> setups,
            Map<Contender, Series> series, BenchReport report) {
        setups.forEach((contender, setup) -> {
            setup.resume();
            Load load = measure(setup, generator, series.computeIfAbsent(contender, _ -> new Series()));
            setup.pause();
            if (load.warningOrNull() != null) {
                String what = caseName(generator) + " on " + contender.text() + ", run " + run;
                say("rdma-raw: " + what + ": " + load.warningOrNull());
                report.addNotMeasured(what + ", without the generator", load.warningOrNull());
            }
        });
    }

    private Load measure(Setup setup, LoadGenerator generator, Series series) {
        RunQueueDelay waitedBefore = RunQueueDelay.read(setup.server().pid());
        CpuTimes before = CpuTimes.read(SERVER_CORE);
        long start = System.nanoTime();
        Load load = generator.run(setup.network(), pinnedTo(GENERATOR_CORE), PORT, options.runSeconds());
        double seconds = (System.nanoTime() - start) / 1e9;
        CpuTimes.Spent spent = CpuTimes.read(SERVER_CORE).since(before);
        double waited = RunQueueDelay.read(setup.server().pid()).busiestWaitedSecondsSince(waitedBefore);
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

    private void report(String caseName, Map<Contender, Series> series, BenchReport report) {
        for (Measure measure : Measure.values()) {
            if (options.arrangement().tells(measure) && isComplete(measure, series.values())) {
                report(caseName + measure.suffix(), measure, series, report);
            }
        }
    }

    /**
     * Returns whether every run of every contender has the figure. For example, wrk cannot report a p99 for some loads.
     */
    private static boolean isComplete(Measure measure, Collection<Series> series) {
        int runs = series.stream().mapToInt(each -> each.of(measure).size()).max().orElse(0);
        return runs > 0 && series.stream().map(each -> each.of(measure))
                .allMatch(values -> values.size() == runs && values.stream().noneMatch(value -> value.isNaN()));
    }

    private void report(String name, Measure measure, Map<Contender, Series> series, BenchReport report) {
        Contender first = options.contenders().getFirst();
        List<Contender> others = options.contenders().subList(1, options.contenders().size());
        List<Double> values = series.get(first).of(measure);
        for (Contender other : others) {
            report.add(BenchRow.of(name, other.text(), other.device(), measure.unit(), series.get(other).of(measure)));
        }
        if (others.isEmpty() || !measure.isCompared()) {
            report.add(BenchRow.of(name, first.text(), first.device(), measure.unit(), values));
            return;
        }
        for (Contender other : others) {
            report.add(BenchRow.compared(name, first.text(), first.device(), measure.unit(), values, other.text(),
                    series.get(other).of(measure)));
        }
    }

    private void printLosses(String caseName, Map<Contender, Series> series) {
        series.forEach((contender, s) -> {
            if (s.lost > 0) {
                say(String.format(Locale.ROOT, "%s on %s: %d requests had no answer or a wrong answer", caseName,
                        contender.text(), s.lost));
            }
        });
    }
}
