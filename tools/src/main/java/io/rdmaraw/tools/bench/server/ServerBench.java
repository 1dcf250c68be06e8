package io.rdmaraw.tools.bench.server;

import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.bench.server.LoadGenerator.Load;
import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.BenchRow;
import io.rdmaraw.tools.report.BenchRow.Unit;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * One server on one transport after the other, in turns, under the same generators: answers per second of the server's
 * processor time, of all processor time, and of the clock. The server has a core to itself with what the kernel does to
 * receive for it, and so has the generator. Each transport has a process and a network of its own, so that nothing of
 * one, such as an XDP program, is in the way of another.
 */
final class ServerBench {
    private static final int PORT = 5300;
    private static final int GENERATOR_CORE = 0;
    private static final int SERVER_CORE = 1;

    /** @param warmUpSeconds under load before the measurement */
    record Options(int runs, double runSeconds, double warmUpSeconds) {
    }

    /** What was measured with one generator on one transport, run by run. */
    private static final class Series {
        private final List<Double> perServerCpuSecond = new ArrayList<>();
        private final List<Double> perMachineCpuSecond = new ArrayList<>();
        private final List<Double> perSecond = new ArrayList<>();
        private final List<Double> p50Micros = new ArrayList<>();
        private final List<Double> p99Micros = new ArrayList<>();
        private long lost;

        private List<Double> of(Measure measure) {
            return switch (measure) {
                case PER_SERVER_CPU -> perServerCpuSecond;
                case PER_MACHINE_CPU -> perMachineCpuSecond;
                case RATE -> perSecond;
                case P50 -> p50Micros;
                case P99 -> p99Micros;
            };
        }
    }

    private enum Measure {
        PER_SERVER_CPU(".perServerCpu", Unit.ANSWERS_PER_CPU_SECOND),
        PER_MACHINE_CPU(".perMachineCpu", Unit.ANSWERS_PER_CPU_SECOND),
        RATE(".rate", Unit.ANSWERS_PER_SECOND),
        P50(".p50", Unit.MICROSECONDS),
        P99(".p99", Unit.MICROSECONDS);

        private final String suffix;
        private final Unit unit;

        Measure(String suffix, Unit unit) {
            this.suffix = suffix;
            this.unit = unit;
        }
    }

    private final String name;
    private final List<LoadGenerator> generators;
    private final Options options;
    private final PrintWriter progress;

    /** @param name the bench's, as in {@code bench dns} */
    ServerBench(String name, List<LoadGenerator> generators, Options options, PrintWriter progress) {
        this.name = name;
        this.generators = generators;
        this.options = options;
        this.progress = progress;
    }

    BenchReport run() {
        ServerNetwork.require("taskset", "util-linux");
        BenchReport report = new BenchReport(name);
        List<Map<ServerTransport, Series>> all = new ArrayList<>();
        generators.forEach(generator -> all.add(new EnumMap<>(ServerTransport.class)));
        Map<ServerTransport, Stand> stands = new EnumMap<>(ServerTransport.class);
        try {
            for (ServerTransport transport : ServerTransport.values()) {
                say("warming up " + transport.text());
                stands.put(transport, warmedUp(transport));
            }
            for (int run = 1; run <= options.runs(); run++) {
                say(name + ", run " + run + " of " + options.runs());
                stands.forEach((transport, stand) -> measure(stand.network(), transport, all));
                for (int i = 0; i < generators.size(); i++) {
                    report(generators.get(i).caseName(), all.get(i), report);
                }
            }
        } finally {
            stands.values().forEach(Stand::close);
        }
        for (int i = 0; i < generators.size(); i++) {
            tellLosses(generators.get(i).caseName(), all.get(i));
        }
        return report;
    }

    private void say(String what) {
        progress.println(what);
        progress.flush();
    }

    private static List<String> pinnedTo(int core) {
        return List.of("taskset", "-c", Integer.toString(core));
    }

    /** A server in a process of its own, on a network of its own; while no client asks it costs nothing. */
    private record Stand(ServerNetwork network, PeerProcess server) {
        void close() {
            server.close();
            network.close();
        }
    }

    /** Before its code is compiled a server spends more time on the compiler than on its clients. */
    private Stand warmedUp(ServerTransport transport) {
        Stand stand = start(transport);
        try {
            generators.getFirst().run(stand.network(), pinnedTo(GENERATOR_CORE), PORT, options.warmUpSeconds());
            return stand;
        } catch (RuntimeException e) {
            stand.close();
            throw e;
        }
    }

    private Stand start(ServerTransport transport) {
        ServerNetwork network = new ServerNetwork();
        try {
            network.receiveOn(SERVER_CORE, GENERATOR_CORE);
            List<String> words = new ArrayList<>(List.of(transport.options(network.serverInterface())));
            words.addAll(List.of("--port", Integer.toString(PORT)));
            return new Stand(network, network.start(pinnedTo(SERVER_CORE), generators.getFirst().example(),
                    words.toArray(String[]::new)));
        } catch (RuntimeException e) {
            network.close();
            throw e;
        }
    }

    private void measure(ServerNetwork network, ServerTransport transport,
            List<Map<ServerTransport, Series>> all) {
        for (int i = 0; i < generators.size(); i++) {
            Series series = all.get(i).computeIfAbsent(transport, t -> new Series());
            measure(network, generators.get(i), series);
        }
    }

    private void measure(ServerNetwork network, LoadGenerator generator, Series series) {
        CpuTimes before = CpuTimes.read(SERVER_CORE);
        long start = System.nanoTime();
        Load load = generator.run(network, pinnedTo(GENERATOR_CORE), PORT, options.runSeconds());
        double seconds = (System.nanoTime() - start) / 1e9;
        CpuTimes.Spent spent = CpuTimes.read(SERVER_CORE).since(before);
        series.perServerCpuSecond.add(load.answers() / spent.serverSeconds());
        series.perMachineCpuSecond.add(load.answers() / spent.machineSeconds());
        series.perSecond.add(load.answers() / seconds);
        series.p50Micros.add(load.p50Micros());
        series.p99Micros.add(load.p99Micros());
        series.lost += load.lost();
    }

    private void report(String caseName, Map<ServerTransport, Series> series, BenchReport report) {
        for (Measure measure : Measure.values()) {
            if (series.get(ServerTransport.RDMA_RAW).of(measure).getFirst().isNaN()) {
                continue;
            }
            series.forEach((transport, s) -> {
                if (transport != ServerTransport.RDMA_RAW) {
                    report.add(BenchRow.of(caseName + measure.suffix, transport.text(), transport.device(),
                            measure.unit, s.of(measure)));
                }
            });
            for (ServerTransport other : ServerTransport.values()) {
                if (other != ServerTransport.RDMA_RAW) {
                    report.add(BenchRow.compared(caseName + measure.suffix, ServerTransport.RDMA_RAW.text(),
                            ServerTransport.RDMA_RAW.device(), measure.unit,
                            series.get(ServerTransport.RDMA_RAW).of(measure), other.text(),
                            series.get(other).of(measure)));
                }
            }
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
