package io.rdmaraw.microbench.wire;

import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.wire.WireEcho.Figure;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * Compares the datagram channel of this transport with those of Netty. Each of them echoes datagrams of the same
 * generator over a separate veth pair, one after the other in each round. A ratio compares measurements of the same
 * round. Every other round has the reverse order, so that a drift of the machine favours no transport.
 */
public final class DatagramWireBench {
    private static final List<WireTransport> TRANSPORTS = List.of(WireTransport.XDP_DATAGRAM,
            WireTransport.EPOLL_RECVMMSG, WireTransport.EPOLL, WireTransport.NIO);
    private static final String PREFIX = "udp.wire.";
    private static final int HEADER_BYTES = 42;
    private static final int MIN_FRAME_BYTES = 60;

    private final int rounds;
    private final WireEcho.Turn turn;
    private final double warmUpSeconds;
    private final PrintWriter progress;
    /** Echoes in the order of a round. The first one is that of this transport. */
    private final List<WireEcho> echoes = new ArrayList<>();

    /** @param payloadBytes payload length of the datagrams */
    public DatagramWireBench(int payloadBytes, int runs, boolean quick, PrintWriter progress) {
        int frameBytes = Math.max(MIN_FRAME_BYTES, payloadBytes + HEADER_BYTES);
        rounds = runs * WireCommand.ROUNDS_PER_RUN;
        turn = quick ? WireCommand.quickTurn(frameBytes) : WireCommand.fullTurn(frameBytes);
        warmUpSeconds = quick ? WireCommand.QUICK_WARM_UP_SECONDS : WireCommand.WARM_UP_SECONDS;
        this.progress = progress;
    }

    /**
     * Measures all transports and adds the rows to a report.
     *
     * @throws io.rdmaraw.tools.command.ToolException if the network for the measurement cannot be created
     */
    public void addTo(BenchReport report) {
        try {
            for (WireTransport transport : TRANSPORTS) {
                say("warming up " + transport.text() + " over veth");
                WireEcho echo = WireEcho.of(transport, progress);
                echoes.add(echo);
                echo.warmUp(turn.frameBytes(), warmUpSeconds);
            }
            for (int i = 1; i <= rounds; i++) {
                say("udp.wire, round " + i + " of " + rounds);
                (i % 2 == 0 ? echoes.reversed() : echoes).forEach(echo -> echo.measure(turn));
                addRows(report);
            }
        } finally {
            WireEcho.closeAll(echoes);
        }
    }

    private void say(String what) {
        progress.println(what);
        progress.flush();
    }

    private void addRows(BenchReport report) {
        WireEcho ours = echoes.getFirst();
        for (WireEcho echo : echoes) {
            report.add(echo.row(PREFIX, Figure.ALLOCATED));
            if (echo != ours) {
                for (Figure figure : Figure.COMMON) {
                    report.add(echo.row(PREFIX, figure));
                    report.add(ours.row(PREFIX, figure, echo));
                }
            }
        }
    }
}
