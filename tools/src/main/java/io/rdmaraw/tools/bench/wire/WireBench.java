package io.rdmaraw.tools.bench.wire;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.BenchRow;
import io.rdmaraw.tools.report.BenchRow.Unit;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Echoes over a veth pair, of frames and of datagrams: ours, two C programs' and Netty's own transports', one after the
 * other in each run and under the same generator. A ratio compares what ran in the same run. Every other run goes
 * backwards, so that a machine that gets slower favours nobody.
 */
final class WireBench {
    private static final String C = "c";
    private static final String C_DEVICE = "af_xdp";
    private static final String C_ON_VERBS = "c-verbs";
    private static final String XDP = WireTransport.XDP.device();
    private static final int WINDOW = 64;
    private static final int TCP_TURNS_PER_RUN = 2;
    private static final double NANOS_PER_MICRO = 1000;

    /**
     * How to measure.
     *
     * @param runs          of each case
     * @param runSeconds    length of one measurement
     * @param warmUpSeconds the most before the first one of each Java process
     * @param rulePairs     rules added and removed in one measurement of their cost
     */
    record Options(int frameBytes, int runs, double runSeconds, double warmUpSeconds, int rulePairs) {
    }

    /** What was measured on one server, run by run. */
    private static final class Series {
        private final List<Double> roundTripsPerSecond = new ArrayList<>();
        private final List<Double> p50Micros = new ArrayList<>();
        private final List<Double> p99Micros = new ArrayList<>();
        private long lost;
    }

    private final Options options;
    private final PrintWriter progress;
    private final BenchReport report = new BenchReport("wire");
    private final Series c = new Series();
    private final Series cOnVerbs = new Series();
    private final Map<WireTransport, Series> series = new EnumMap<>(WireTransport.class);
    private final Map<WireTransport, Wire.Server> servers = new EnumMap<>(WireTransport.class);

    WireBench(Options options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
    }

    BenchReport run() {
        try (Wire wire = new Wire(progress)) {
            for (WireTransport transport : WireTransport.values()) {
                warmUp(wire, transport);
            }
            for (int i = 1; i <= options.runs(); i++) {
                say("echo, run " + i + " of " + options.runs());
                measureAll(wire, i % 2 == 0);
                reportEchoes();
            }
            tellLosses();
            measureRules();
            measureKernelTcp(wire);
        }
        return report;
    }

    private void say(String what) {
        progress.println(what);
        progress.flush();
    }

    private void warmUp(Wire wire, WireTransport transport) {
        say("warming up " + transport.text() + " on " + transport.device());
        Wire.Server server = wire.startServer(transport);
        servers.put(transport, server);
        series.put(transport, new Series());
        server.open();
        wire.warmUp(server, WINDOW, options.frameBytes(), options.warmUpSeconds());
        server.closeChannel();
    }

    private void measureAll(Wire wire, boolean backwards) {
        List<Runnable> turns = new ArrayList<>();
        turns.add(() -> measureC(wire, wire::startC, c));
        turns.add(() -> measureC(wire, wire::startVerbsC, cOnVerbs));
        servers.forEach((transport, server) -> turns.add(() -> {
            server.open();
            measure(wire, series.get(transport));
            server.closeChannel();
        }));
        (backwards ? turns.reversed() : turns).forEach(Runnable::run);
    }

    private void measureC(Wire wire, Supplier<PeerProcess> program, Series into) {
        PeerProcess echo = program.get();
        try {
            measure(wire, into);
        } finally {
            echo.close();
        }
    }

    private void measure(Wire wire, Series into) {
        JsonNode rate = wire.generate(WINDOW, options.frameBytes(), options.runSeconds());
        into.roundTripsPerSecond.add(rate.required("roundTripsPerSecond").asDouble());
        JsonNode latency = wire.generate(1, options.frameBytes(), options.runSeconds());
        into.p50Micros.add(latency.required("p50Nanos").asDouble() / NANOS_PER_MICRO);
        into.p99Micros.add(latency.required("p99Nanos").asDouble() / NANOS_PER_MICRO);
        into.lost += rate.required("lost").asLong() + latency.required("lost").asLong();
    }

    private void reportEchoes() {
        List<BenchRow> rates = new ArrayList<>();
        List<BenchRow> p50 = new ArrayList<>();
        List<BenchRow> p99 = new ArrayList<>();
        rates.add(BenchRow.of("echo.window64", C, C_DEVICE, Unit.ROUND_TRIPS_PER_SECOND, c.roundTripsPerSecond));
        p50.add(BenchRow.of("rtt.p50", C, C_DEVICE, Unit.MICROSECONDS, c.p50Micros));
        p99.add(BenchRow.of("rtt.p99", C, C_DEVICE, Unit.MICROSECONDS, c.p99Micros));
        rates.add(BenchRow.compared("echo.window64", C_ON_VERBS, XDP, Unit.ROUND_TRIPS_PER_SECOND,
                cOnVerbs.roundTripsPerSecond, C, c.roundTripsPerSecond));
        p50.add(BenchRow.compared("rtt.p50", C_ON_VERBS, XDP, Unit.MICROSECONDS, cOnVerbs.p50Micros, C, c.p50Micros));
        p99.add(BenchRow.compared("rtt.p99", C_ON_VERBS, XDP, Unit.MICROSECONDS, cOnVerbs.p99Micros, C, c.p99Micros));
        series.forEach((transport, s) -> {
            rates.add(row("echo.window64", transport, Unit.ROUND_TRIPS_PER_SECOND, s.roundTripsPerSecond, C,
                    c.roundTripsPerSecond));
            p50.add(row("rtt.p50", transport, Unit.MICROSECONDS, s.p50Micros, C, c.p50Micros));
            p99.add(row("rtt.p99", transport, Unit.MICROSECONDS, s.p99Micros, C, c.p99Micros));
        });
        for (WireTransport ours : List.of(WireTransport.XDP, WireTransport.PACKET, WireTransport.XDP_DATAGRAM)) {
            for (WireTransport other : List.of(WireTransport.EPOLL_RECVMMSG, WireTransport.EPOLL,
                    WireTransport.NIO)) {
                rates.add(row("echo.window64", ours, Unit.ROUND_TRIPS_PER_SECOND,
                        series.get(ours).roundTripsPerSecond, other.text(), series.get(other).roundTripsPerSecond));
            }
        }
        rates.forEach(report::add);
        p50.forEach(report::add);
        p99.forEach(report::add);
    }

    private void tellLosses() {
        series.forEach((transport, s) -> {
            if (s.lost > 0) {
                say(s.lost + " round trips of " + transport.text() + " on " + transport.device() + " were lost");
            }
        });
    }

    private static BenchRow row(String name, WireTransport transport, Unit unit, List<Double> values, String to,
            List<Double> references) {
        return BenchRow.compared(name, transport.text(), transport.device(), unit, values, to, references);
    }

    private void measureRules() {
        say("adding and removing rules");
        for (WireTransport transport : List.of(WireTransport.XDP, WireTransport.PACKET)) {
            Wire.Server server = servers.get(transport);
            server.ruleNanos(options.rulePairs());
            List<Double> micros = new ArrayList<>();
            for (int i = 0; i < options.runs(); i++) {
                micros.add(server.ruleNanos(options.rulePairs()) / NANOS_PER_MICRO);
            }
            report.add(BenchRow.of("rule.addRemove", transport.text(), transport.device(), Unit.MICROSECONDS, micros));
        }
    }

    /** The kernel's own traffic on the same interface, with its offloads as they are by default. */
    private void measureKernelTcp(Wire wire) {
        wire.offloadsOn();
        List<Double> alone = new ArrayList<>();
        List<Double> beside = new ArrayList<>();
        wire.tcpThroughput(options.runSeconds());
        for (int i = 1; i <= options.runs() * TCP_TURNS_PER_RUN; i++) {
            say("TCP of the kernel, run " + i + " of " + options.runs() * TCP_TURNS_PER_RUN);
            if (i % 2 == 0) {
                alone.add(wire.tcpThroughput(options.runSeconds()));
            }
            servers.get(WireTransport.XDP).open();
            beside.add(wire.tcpThroughput(options.runSeconds()));
            servers.get(WireTransport.XDP).closeChannel();
            if (i % 2 != 0) {
                alone.add(wire.tcpThroughput(options.runSeconds()));
            }
        }
        report.add(BenchRow.of("kernel.tcp", "kernel", "veth", Unit.GIGABITS_PER_SECOND, alone));
        report.add(BenchRow.compared("kernel.tcp", "kernel-beside-rdma-raw", XDP,
                Unit.GIGABITS_PER_SECOND, beside, "kernel", alone));
    }
}
