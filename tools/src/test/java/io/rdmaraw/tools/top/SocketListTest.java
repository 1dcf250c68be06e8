package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The columns match those of ss(8). */
class SocketListTest {
    private static Snapshot.Row row(String state, String remote, Map<String, Long> counts) {
        return new Snapshot.Row(new TreeMap<>(Map.of("loop", "loop-1", "device", "soft:xdp:eth0", "local",
                "10.0.0.1:80", "remote", remote, "state", state, "congestion", "cubic")), new TreeMap<>(counts));
    }

    private static final List<Snapshot.Row> SOCKETS = List.of(
            row("LISTEN", "*", Map.of("gauge:half-open", 2L, "gauge:backlog", 128L)),
            row("ALL", "", Map.of("gauge:ESTABLISHED", 1L)),
            row("ESTABLISHED", "10.0.0.2:4242", Map.of("gauge:unacknowledged.bytes", 300L, "gauge:unsent.bytes", 7L,
                    "nanos:rtt", 52_000L, "nanos:rto", 200_000_000L, "gauge:segment.bytes", 1448L,
                    "gauge:congestion-window.bytes", 14_480L, "traffic:retransmitted.segments", 3L)),
            row("CLOSE_WAIT", "10.0.0.3:99", Map.of()));

    private static String print(boolean info, String pid, boolean listeners, boolean connections) {
        StringWriter text = new StringWriter();
        new SocketList(SOCKETS, info, false, pid).print(new PrintWriter(text), listeners, connections);
        return text.toString();
    }

    @Test
    void serversAndConnectionsAreInTheColumnsOfSs() {
        assertEquals("""
                State      Recv-Q Send-Q Local Address:Port Peer Address:Port
                LISTEN     2      128    10.0.0.1:80        *:*
                ESTAB      0      307    10.0.0.1:80        10.0.0.2:4242
                CLOSE-WAIT 0      0      10.0.0.1:80        10.0.0.3:99
                """, print(false, null, true, true));
    }

    @Test
    void timersAreNamedAsSsNamesThem() {
        Snapshot.Row keepalive = row("ESTABLISHED", "10.0.0.2:4242", Map.of("nanos:timer", 7_199_000_000_000L));
        keepalive.names().put("timer", "keepalive");
        StringWriter text = new StringWriter();
        new SocketList(List.of(keepalive), false, true, null).print(new PrintWriter(text), false, true);
        assertEquals("ESTAB 0      0      10.0.0.1:80        10.0.0.2:4242     timer:(keepalive,119min59sec,0)",
                text.toString().lines().skip(1).findFirst().orElseThrow());
    }

    @Test
    void connectionsHaveALineWithTcpState() {
        assertEquals("""
                State      Recv-Q Send-Q Local Address:Port Peer Address:Port Process
                ESTAB      0      307    10.0.0.1:80        10.0.0.2:4242     users:(("java",pid=77,loop="loop-1"))
                \t cubic rto:200 rtt:0.052 mss:1448 cwnd:10 bytes_unacked:300 retrans:3 notsent:7
                CLOSE-WAIT 0      0      10.0.0.1:80        10.0.0.3:99       users:(("java",pid=77,loop="loop-1"))
                \t cubic
                """, print(true, "77", false, true));
    }

    /** The TCP details have the names and the order of {@code ss -ti}. */
    @Test
    void allThatTcpKnowsIsInTheWordsOfSs() {
        Map<String, Long> counts = new TreeMap<>(Map.of("gauge:segment.bytes", 1448L, "gauge:send-window.shift", 7L,
                "gauge:receive-window.shift", 9L, "gauge:backoff", 2L, "nanos:rtt", 52_000L, "nanos:rtt.variation",
                7_500L, "gauge:slow-start-threshold.bytes", 14_480L, "nanos:busy", 80_000_000L,
                "nanos:window-limited", 20_000_000L, "nanos:send-buffer-limited", 1_000_000L));
        counts.putAll(Map.of("traffic:sent.payload.bytes", 3000L, "traffic:retransmitted.payload.bytes", 1000L,
                "traffic:delivered.payload.bytes", 2000L, "traffic:duplicates-reported.segments", 1L,
                "traffic:reorderings", 4L, "gauge:lost.bytes", 5L, "gauge:sacked.bytes", 6L, "nanos:since-sent",
                12_900_000L, "gauge:receive-window.bytes", 65_535L, "gauge:received.dscp", 46L));
        counts.putAll(Map.of("gauge:pacing.rate", 1_000L, "gauge:delivery.rate", 900L,
                "gauge:delivery.application-limited", 1L));
        Snapshot.Row connection = row("ESTABLISHED", "10.0.0.2:4242", counts);
        connection.names().put("options", "ts sack");
        StringWriter text = new StringWriter();
        new SocketList(List.of(connection), true, false, null).print(new PrintWriter(text), false, true);
        assertEquals("ts sack cubic wscale:7,9 backoff:2 rtt:0.052/0.0075 mss:1448 ssthresh:10 bytes_sent:3000"
                + " bytes_retrans:1000 lastsnd:12 pacing_rate 8000bps delivery_rate 7200bps"
                + " bytes_delivered:2000 app_limited busy:80ms rwnd_limited:20ms(25.0%)"
                + " sndbuf_limited:1ms(1.3%) bytes_lost:5 bytes_sacked:6 dsack_dups:1 reord_seen:4 rcv_wnd:65535"
                + " rcv_dscp:46", text.toString().lines().skip(2).findFirst().orElseThrow().strip());
    }
}
