package io.rdmaraw.microbench.wire;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.testsuite.net.PeerProcess;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * One of the echoes that a bench compares, with its wire and its results by turn.
 *
 * <p>A Java server keeps its channel open after the warm-up and sleeps during the turns of others. Opening or closing a
 * channel would make the JVM discard compiled code, and a short turn after that would measure the JIT compiler. A C
 * program polls continuously, so it is started for each turn. Its start is not part of the measurement.
 */
final class WireEcho implements AutoCloseable {
    private static final int WINDOW = 64;
    private static final double NANOS_PER_MICRO = 1000;

    /**
     * The durations of the parts of a turn.
     *
     * @param frameBytes     length of the frames without FCS
     * @param rateSeconds    duration of the measurement with a full window
     * @param latencySeconds duration of the measurement with one frame in flight
     */
    record Turn(int frameBytes, double rateSeconds, double latencySeconds) {
    }

    /** A figure of a turn. Scripts rely on the names. */
    enum Figure {
        RATE("echo.window64", Unit.ROUND_TRIPS_PER_SECOND),
        P50("rtt.p50", Unit.MICROSECONDS),
        P99("rtt.p99", Unit.MICROSECONDS),
        /** Bytes allocated per round trip. Only Java servers have this figure. */
        ALLOCATED("echo.window64.alloc", Unit.BYTES_PER_DATAGRAM);

        /** The figures that every echo has. */
        static final List<Figure> COMMON = List.of(RATE, P50, P99);

        private final String text;
        private final Unit unit;

        Figure(String text, Unit unit) {
            this.text = text;
            this.unit = unit;
        }
    }

    private final String text;
    private final String device;
    private final Wire wire;
    /** Starts the C program, or null for a Java server. */
    private final Function<Wire, PeerProcess> programOrNull;
    /** The Java server, or null for a C program. */
    private final Wire.Server serverOrNull;
    private final Map<Figure, List<Double>> values = new EnumMap<>(Figure.class);
    private long lost;

    private WireEcho(String text, String device, Wire wire, Function<Wire, PeerProcess> programOrNull,
            Wire.Server serverOrNull) {
        this.text = text;
        this.device = device;
        this.wire = wire;
        this.programOrNull = programOrNull;
        this.serverOrNull = serverOrNull;
        for (Figure figure : Figure.values()) {
            values.put(figure, new ArrayList<>());
        }
    }

    /** Returns the echo of a C program. */
    static WireEcho inC(String text, String device, Function<Wire, PeerProcess> program, PrintWriter progress) {
        return new WireEcho(text, device, new Wire(progress), program, null);
    }

    /** Returns the echo of a Java server. The server has started but not opened its channel. */
    static WireEcho of(WireTransport transport, PrintWriter progress) {
        Wire wire = new Wire(progress);
        try {
            return new WireEcho(transport.text(), transport.device(), wire, null, wire.startServer(transport));
        } catch (RuntimeException e) {
            wire.close();
            throw e;
        }
    }

    Wire wire() {
        return wire;
    }

    /** Returns the Java server, or null for a C program. */
    Wire.Server server() {
        return serverOrNull;
    }

    String text() {
        return text;
    }

    String device() {
        return device;
    }

    /** Returns the number of round trips without an answer. */
    long lost() {
        return lost;
    }

    /**
     * Opens the channel of a Java server and keeps it busy until the JIT compiler has finished.
     *
     * @param maxSeconds maximum duration
     */
    void warmUp(int frameBytes, double maxSeconds) {
        serverOrNull.open();
        wire.warmUp(serverOrNull, WINDOW, frameBytes, maxSeconds);
    }

    void measure(Turn turn) {
        if (programOrNull == null) {
            serverOrNull.allocatedBytes();
            long roundTrips = measureRate(turn);
            add(Figure.ALLOCATED, (double) serverOrNull.allocatedBytes() / Math.max(1, roundTrips));
            measureLatency(turn);
            return;
        }
        PeerProcess program = programOrNull.apply(wire);
        try {
            measureRate(turn);
            measureLatency(turn);
        } finally {
            program.close();
        }
    }

    private long measureRate(Turn turn) {
        JsonNode rate = wire.generate(WINDOW, turn.frameBytes(), turn.rateSeconds());
        add(Figure.RATE, rate.required("roundTripsPerSecond").asDouble());
        lost += rate.required("lost").asLong();
        return rate.required("roundTrips").asLong();
    }

    private void measureLatency(Turn turn) {
        JsonNode latency = wire.generate(1, turn.frameBytes(), turn.latencySeconds());
        add(Figure.P50, latency.required("p50Nanos").asDouble() / NANOS_PER_MICRO);
        add(Figure.P99, latency.required("p99Nanos").asDouble() / NANOS_PER_MICRO);
        lost += latency.required("lost").asLong();
    }

    private void add(Figure figure, double value) {
        values.get(figure).add(value);
    }

    /** Returns a row without a reference. */
    BenchRow row(String prefix, Figure figure) {
        return BenchRow.of(prefix + figure.text, text, device, figure.unit, values.get(figure));
    }

    /** Returns a row with another echo as the reference, compared turn by turn. */
    BenchRow row(String prefix, Figure figure, WireEcho reference) {
        return BenchRow.compared(prefix + figure.text, text, device, figure.unit, values.get(figure), reference.text,
                reference.values.get(figure));
    }

    /** Closes all echoes, even if closing one of them fails. Throws the first failure at the end. */
    static void closeAll(List<WireEcho> echoes) {
        RuntimeException failure = null;
        for (WireEcho echo : echoes) {
            try {
                echo.close();
            } catch (RuntimeException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public void close() {
        try {
            if (serverOrNull != null) {
                serverOrNull.close();
            }
        } finally {
            wire.close();
        }
    }
}
