package io.rdmaraw.tools.bench.wire;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.BenchRow;
import io.rdmaraw.tools.report.BenchRow.Unit;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Echoes of datagrams over a veth pair: our datagram channel and Netty's own, one after the other in each run and under
 * the same generator. A ratio compares what ran in the same run; every other run goes backwards.
 */
public final class DatagramWireBench {
    private static final WireTransport OURS = WireTransport.XDP_DATAGRAM;
    private static final List<WireTransport> TRANSPORTS = List.of(OURS, WireTransport.EPOLL_RECVMMSG,
            WireTransport.EPOLL, WireTransport.NIO);
    private static final int WINDOW = 64;
    private static final int HEADER_BYTES = 42;
    private static final int MIN_FRAME_BYTES = 60;
    private static final double NANOS_PER_MICRO = 1000;

    /** What was measured on one server, run by run. */
    private static final class Series {
        private final List<Double> roundTripsPerSecond = new ArrayList<>();
        private final List<Double> p50Micros = new ArrayList<>();
        private final List<Double> p99Micros = new ArrayList<>();
        private final List<Double> bytesPerDatagram = new ArrayList<>();
    }

    private final int frameBytes;
    private final int runs;
    private final boolean quick;
    private final PrintWriter progress;
    private final Map<WireTransport, Series> series = new EnumMap<>(WireTransport.class);
    private final Map<WireTransport, Wire.Server> servers = new EnumMap<>(WireTransport.class);

    /** @param payloadBytes length of the datagrams */
    public DatagramWireBench(int payloadBytes, int runs, boolean quick, PrintWriter progress) {
        frameBytes = Math.max(MIN_FRAME_BYTES, payloadBytes + HEADER_BYTES);
        this.runs = runs;
        this.quick = quick;
        this.progress = progress;
    }

    /**
     * Measures and adds the rows.
     *
     * @throws io.rdmaraw.tools.ToolException when no network to measure on can be made
     */
    public void addTo(BenchReport report) {
        try (Wire wire = new Wire(progress)) {
            for (WireTransport transport : TRANSPORTS) {
                say("warming up " + transport.text() + " over veth");
                Wire.Server server = wire.startServer(transport);
                servers.put(transport, server);
                series.put(transport, new Series());
                server.open();
                wire.warmUp(server, WINDOW, frameBytes, quick ? 3 : 15);
                server.closeChannel();
            }
            for (int i = 1; i <= runs; i++) {
                say("udp.wire, run " + i + " of " + runs);
                List<WireTransport> order = i % 2 == 0 ? TRANSPORTS.reversed() : TRANSPORTS;
                order.forEach(transport -> measure(wire, servers.get(transport), series.get(transport)));
                addRows(report);
            }
        }
    }

    private void say(String what) {
        progress.println(what);
        progress.flush();
    }

    private void measure(Wire wire, Wire.Server server, Series into) {
        double seconds = quick ? 0.3 : 1;
        server.open();
        server.allocatedBytes();
        JsonNode rate = wire.generate(WINDOW, frameBytes, seconds);
        into.bytesPerDatagram.add((double) server.allocatedBytes() / Math.max(1, rate.required("roundTrips").asLong()));
        into.roundTripsPerSecond.add(rate.required("roundTripsPerSecond").asDouble());
        JsonNode latency = wire.generate(1, frameBytes, seconds);
        into.p50Micros.add(latency.required("p50Nanos").asDouble() / NANOS_PER_MICRO);
        into.p99Micros.add(latency.required("p99Nanos").asDouble() / NANOS_PER_MICRO);
        server.closeChannel();
    }

    private void addRows(BenchReport report) {
        for (WireTransport transport : TRANSPORTS) {
            Series s = series.get(transport);
            report.add(BenchRow.of("udp.wire.echo.window64.alloc", transport.text(), transport.device(),
                    Unit.BYTES_PER_DATAGRAM, s.bytesPerDatagram));
            if (transport != OURS) {
                report.add(BenchRow.of("udp.wire.echo.window64", transport.text(), transport.device(),
                        Unit.ROUND_TRIPS_PER_SECOND, s.roundTripsPerSecond));
                report.add(BenchRow.of("udp.wire.rtt.p50", transport.text(), transport.device(), Unit.MICROSECONDS,
                        s.p50Micros));
                report.add(BenchRow.of("udp.wire.rtt.p99", transport.text(), transport.device(), Unit.MICROSECONDS,
                        s.p99Micros));
                addCompared(report, s, transport.text());
            }
        }
    }

    private void addCompared(BenchReport report, Series other, String name) {
        Series ours = series.get(OURS);
        report.add(BenchRow.compared("udp.wire.echo.window64", OURS.text(), OURS.device(),
                Unit.ROUND_TRIPS_PER_SECOND, ours.roundTripsPerSecond, name, other.roundTripsPerSecond));
        report.add(BenchRow.compared("udp.wire.rtt.p50", OURS.text(), OURS.device(), Unit.MICROSECONDS,
                ours.p50Micros, name, other.p50Micros));
        report.add(BenchRow.compared("udp.wire.rtt.p99", OURS.text(), OURS.device(), Unit.MICROSECONDS,
                ours.p99Micros, name, other.p99Micros));
    }
}
