package io.rdmaraw.microbench.wire;

import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.wire.WireEcho.Figure;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Compares echoes of frames and datagrams over veth pairs: those of this transport, of two C programs, and of Netty's
 * transports. In each round they run one after the other with the same generator. A ratio compares measurements of the
 * same round.
 *
 * <p>Rounds are many and short, and every other round has the reverse order, so that a machine that slows down favours
 * no echo.
 */
final class WireBench {
    private static final String XDP = WireTransport.XDP.device();
    private static final List<WireTransport> OURS = List.of(WireTransport.XDP, WireTransport.PACKET,
            WireTransport.XDP_DATAGRAM);
    private static final List<WireTransport> NETTYS = List.of(WireTransport.EPOLL_RECVMMSG, WireTransport.EPOLL,
            WireTransport.NIO);
    private static final String NO_PREFIX = "";
    private static final int TCP_TURNS_PER_RUN = 2;
    private static final double NANOS_PER_MICRO = 1000;

    /**
     * The options of the wire bench.
     *
     * @param rounds        number of rounds, in each of which every echo has one turn
     * @param turn          durations within a turn
     * @param warmUpSeconds maximum warm-up of each Java process
     * @param runs          number of measurements of the rule cost and of kernel TCP
     * @param rulePairs     number of rules that one measurement of the rule cost adds and removes
     * @param tcpSeconds    duration of a measurement of kernel TCP
     */
    record Options(int rounds, WireEcho.Turn turn, double warmUpSeconds, int runs, int rulePairs, double tcpSeconds) {
    }

    private final Options options;
    private final PrintWriter progress;
    private final BenchReport report = new BenchReport("wire");
    private final Map<WireTransport, WireEcho> echoes = new EnumMap<>(WireTransport.class);
    /** All echoes in the order of their turns. */
    private final List<WireEcho> all = new ArrayList<>();
    private WireEcho c;

    WireBench(Options options, PrintWriter progress) {
        this.options = options;
        this.progress = progress;
    }

    BenchReport run() {
        try {
            start();
            for (int i = 1; i <= options.rounds(); i++) {
                say("echo, round " + i + " of " + options.rounds());
                (i % 2 == 0 ? all.reversed() : all).forEach(echo -> echo.measure(options.turn()));
                reportEchoes();
            }
            reportLosses();
            OURS.forEach(transport -> echoes.get(transport).server().closeChannel());
            measureRules();
            measureKernelTcp(echoes.get(WireTransport.XDP));
        } finally {
            WireEcho.closeAll(all);
        }
        return report;
    }

    private void say(String what) {
        progress.println(what);
        progress.flush();
    }

    private void start() {
        c = WireEcho.inC("c", "af_xdp", Wire::startC, progress);
        all.add(c);
        all.add(WireEcho.inC("c-verbs", XDP, Wire::startVerbsC, progress));
        for (WireTransport transport : WireTransport.values()) {
            say("warming up " + transport.text() + " on " + transport.device());
            WireEcho echo = WireEcho.of(transport, progress);
            all.add(echo);
            echoes.put(transport, echo);
            echo.warmUp(options.turn().frameBytes(), options.warmUpSeconds());
        }
    }

    private void reportEchoes() {
        for (Figure figure : Figure.COMMON) {
            for (WireEcho echo : all) {
                report.add(echo == c ? echo.row(NO_PREFIX, figure) : echo.row(NO_PREFIX, figure, c));
            }
        }
        for (WireTransport ours : OURS) {
            for (WireTransport other : NETTYS) {
                report.add(echoes.get(ours).row(NO_PREFIX, Figure.RATE, echoes.get(other)));
            }
        }
    }

    private void reportLosses() {
        for (WireEcho echo : all) {
            if (echo.lost() > 0) {
                say(echo.lost() + " round trips of " + echo.text() + " on " + echo.device() + " were lost");
            }
        }
    }

    private void measureRules() {
        say("adding and removing rules");
        for (WireTransport transport : List.of(WireTransport.XDP, WireTransport.PACKET)) {
            Wire.Server server = echoes.get(transport).server();
            server.ruleNanos(options.rulePairs());
            List<Double> micros = new ArrayList<>();
            for (int i = 0; i < options.runs(); i++) {
                micros.add(server.ruleNanos(options.rulePairs()) / NANOS_PER_MICRO);
            }
            report.add(BenchRow.of("rule.addRemove", transport.text(), transport.device(), Unit.MICROSECONDS, micros));
        }
    }

    /** Measures kernel TCP on the interface of an echo, with the default offloads, with and without an open channel. */
    private void measureKernelTcp(WireEcho echo) {
        Wire wire = echo.wire();
        wire.offloadsOn();
        List<Double> alone = new ArrayList<>();
        List<Double> beside = new ArrayList<>();
        wire.tcpThroughput(options.tcpSeconds());
        for (int i = 1; i <= options.runs() * TCP_TURNS_PER_RUN; i++) {
            say("TCP of the kernel, run " + i + " of " + options.runs() * TCP_TURNS_PER_RUN);
            if (i % 2 == 0) {
                alone.add(wire.tcpThroughput(options.tcpSeconds()));
            }
            echo.server().open();
            beside.add(wire.tcpThroughput(options.tcpSeconds()));
            echo.server().closeChannel();
            if (i % 2 != 0) {
                alone.add(wire.tcpThroughput(options.tcpSeconds()));
            }
        }
        report.add(BenchRow.of("kernel.tcp", "kernel", "veth", Unit.GIGABITS_PER_SECOND, alone));
        report.add(BenchRow.compared("kernel.tcp", "kernel-beside-rdma-raw", XDP,
                Unit.GIGABITS_PER_SECOND, beside, "kernel", alone));
    }
}
