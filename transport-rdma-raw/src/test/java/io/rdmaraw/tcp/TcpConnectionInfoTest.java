package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.CongestionControls;
import org.junit.jupiter.api.Test;

/** The counters and times that Linux reports in TCP_INFO. */
class TcpConnectionInfoTest {
    private static final double MILLI_NANOS = 1e6;

    private static double busyMillis(Dialogue d) {
        return d.c.info().busyNanos() / MILLI_NANOS;
    }

    private static double windowMillis(Dialogue d) {
        return d.c.info().windowLimitedNanos() / MILLI_NANOS;
    }

    private static double bufferMillis(Dialogue d) {
        return d.c.info().sendBufferLimitedNanos() / MILLI_NANOS;
    }

    /** Sets the engine's clock to the time of the dialogue. */
    private static Dialogue at(Dialogue d) {
        d.engine.advance(d.now);
        return d;
    }

    @Test
    void connectionIsBusyWhileDataIsUnacknowledged() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        at(d.after(50));
        assertEquals(0, busyMillis(d));
        at(d.send(10).after(7));
        assertEquals(7, busyMillis(d), 0.01);
        d.after(3).hears("A 1 ack 11");
        at(d.after(100));
        assertEquals(10, busyMillis(d), 0.01);
        at(d.send(10).after(5));
        assertEquals(15, busyMillis(d), 0.01);
        assertEquals(0, windowMillis(d) + bufferMillis(d));
    }

    @Test
    void timesOfAbortedConnectionAreComplete() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 1 ack 1 win 0").send(10);
        at(d.after(30));
        d.c.abort();
        assertEquals(30, busyMillis(d), 0.01);
        assertEquals(30, windowMillis(d), 0.01);
    }

    /** As packetdrill's tcp-info-rwnd-limited requires of Linux. */
    @Test
    void timeLimitedByPeerWindowIsCounted() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 1 ack 1 win 0").send(10);
        at(d.after(30));
        assertEquals(30, windowMillis(d), 0.01);
        d.hears("A 1 ack 1 win 1000");
        at(d.after(40));
        assertEquals(30, windowMillis(d), 0.01);
        assertEquals(70, busyMillis(d), 0.01);
        d.hears("A 1 ack 11 win 1000").send(3_000).after(0);
        at(d.after(20));
        assertEquals(50, windowMillis(d), 0.01, "the window is full");
    }

    @Test
    void congestionWindowDoesNotCountAsPeerWindow() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        at(d.send(20_000).after(8));
        assertTrue(d.c.info().unsentBytes() > 0);
        assertEquals(0, windowMillis(d) + bufferMillis(d));
    }

    /** As packetdrill's tcp-info-sndbuf-limited requires of Linux. */
    @Test
    void timeLimitedBySendBufferIsCounted() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.send(3_000);
        d.c.setAwaitingSendRoom(true);
        at(d.after(25));
        assertEquals(25, bufferMillis(d), 0.01);
        d.c.setAwaitingSendRoom(false);
        at(d.after(25));
        assertEquals(25, bufferMillis(d), 0.01);
    }

    @Test
    void retransmissionsAndDuplicatesAreCounted() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.send(1_000).says("PA 1 len 1000 ack 1");
        d.waits(1_000);
        d.says("PA 1 len 1000 ack 1").hears("A 1 ack 1001 sack 1-1001");
        TcpConnectionInfo info = d.c.info();
        assertEquals(2_000, info.bytesSent());
        assertEquals(1_000, info.retransmittedBytes());
        assertEquals(1_000, info.deliveredBytes());
        assertEquals(1, info.duplicatesReported());
        assertEquals(0, info.reorderings());
    }

    @Test
    void reorderingsAreCounted() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.send(3_000).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "PA 2001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 1 sack 1001-2001");
        assertEquals(1_000, d.c.info().deliveredBytes());
        assertEquals(1_000, d.c.info().sackedBytes());
        d.hears("A 1 ack 2001");
        assertEquals(1, d.c.info().reorderings());
        assertEquals(2_000, d.c.info().deliveredBytes());
    }

    @Test
    void markedBytesAreCounted() {
        Dialogue d = Dialogue.established(Dialogue.plain().ecn(TcpConfig.EcnMode.ACTIVE),
                "SAE 0 ack 1 win 65535 mss 1000 sackOK");
        d.send(2_000).says("A 1 len 1000 ack 1 ect", "PA 1001 len 1000 ack 1 ect");
        d.after(10).hears("AE 1 ack 1001").hears("A 1 ack 2001");
        assertEquals(1_000, d.c.info().deliveredMarkedBytes());
        assertEquals(2_000, d.c.info().deliveredBytes());
    }

    @Test
    void ratesAreReportedIfMeasured() {
        Dialogue d = Dialogue.established(Dialogue.plain().congestionControl(CongestionControls.named("bbr")));
        d.send(1_000).after(10).hears("A 1 ack 1001").after(0);
        TcpConnectionInfo info = d.c.info();
        assertEquals(100_000, info.deliveryRate(), 5_000, "1000 bytes in 10 ms");
        assertTrue(info.applicationLimited());
        assertTrue(info.pacingRate() > 0);
        TcpConnectionInfo cubic = Dialogue.established(Dialogue.plain()).c.info();
        assertEquals(0, cubic.deliveryRate() + cubic.pacingRate());
    }
}
