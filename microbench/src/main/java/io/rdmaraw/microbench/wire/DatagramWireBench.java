package io.rdmaraw.microbench.wire;

import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.wire.WireEcho.Figure;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * Echoes datagrams over veth pairs with our datagram channel and with those of Netty, one after the other in each
 * round, under the same generator. A ratio compares runs of the same round; every other round has the reverse order.
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
    /** The first one is ours. */
    private final List<WireEcho> echoes = new ArrayList<>();

    /** @param payloadBytes length of the datagrams */
    public DatagramWireBench(int payloadBytes, int runs, boolean quick, PrintWriter progress) {
        int frameBytes = Math.max(MIN_FRAME_BYTES, payloadBytes + HEADER_BYTES);
        rounds = runs * WireCommand.ROUNDS_PER_RUN;
        turn = quick ? WireCommand.quickTurn(frameBytes) : WireCommand.fullTurn(frameBytes);
        warmUpSeconds = quick ? WireCommand.QUICK_WARM_UP_SECONDS : WireCommand.WARM_UP_SECONDS;
        this.progress = progress;
    }

    /**
     * Measures and adds the rows.
     *
     * @throws io.rdmaraw.tools.command.ToolException when no network to measure on can be made
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
