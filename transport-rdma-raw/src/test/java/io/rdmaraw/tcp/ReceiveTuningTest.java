package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The receive buffer grows with the bytes that the user reads per round trip of 10 ms. */
class ReceiveTuningTest {
    private static final int INITIAL = 20_000;
    private static final int LIMIT = 150_000;

    private static Dialogue growing() {
        return Dialogue.established(Dialogue.plain().initialReceiveBufferBytes(INITIAL).maxReceiveBufferBytes(LIMIT),
                "SA 0 ack 1 win 65535 mss 1000 ws 0 sackOK");
    }

    /** Receives {@code bytes} from the peer, then lets a round trip of 10 ms pass. */
    private static void roundTrip(Dialogue d, int bytes) {
        int begin = d.c.rcvNxt() - Dialogue.IRS;
        for (int at = begin; at < begin + bytes; at += 1000) {
            d.hears("A " + at + " ack 1 len 1000");
            d.after(0);
        }
        d.after(10);
    }

    @Test
    void bufferGrowsToTwiceTheBytesReadPerRoundTrip() {
        Dialogue d = growing();
        for (int sent = 10_000; sent < LIMIT / 2; sent *= 2) {
            roundTrip(d, sent);
            roundTrip(d, sent);
            assertTrue(d.c.receiveBufferBytes >= 2 * sent, d.c.receiveBufferBytes + " after " + sent);
            assertTrue(d.c.receiveBufferBytes <= 2 * sent + 17_000 || d.c.receiveBufferBytes == INITIAL);
        }
        for (int i = 0; i < 5; i++) {
            roundTrip(d, LIMIT - 10_000);
        }
        assertEquals(LIMIT, d.c.receiveBufferBytes);
        assertTrue(d.c.rcvAdv() - d.c.rcvNxt() > LIMIT - 2000, "and all of it is offered");
    }

    @Test
    void slowPathKeepsInitialBuffer() {
        Dialogue d = growing();
        for (int i = 0; i < 20; i++) {
            roundTrip(d, 1000);
        }
        assertEquals(INITIAL, d.c.receiveBufferBytes);
    }

    @Test
    void bufferDoesNotGrowWithoutReading() {
        Dialogue d = growing();
        d.events.readAtOnce = false;
        for (int i = 0; i < 19; i++) {
            roundTrip(d, 1000);
        }
        assertEquals(INITIAL, d.c.receiveBufferBytes);
    }

    @Test
    void bufferSetByUserDoesNotGrow() {
        Dialogue d = growing();
        d.c.receiveBufferBytes(40_000);
        for (int i = 0; i < 10; i++) {
            roundTrip(d, 38_000);
        }
        assertEquals(40_000, d.c.receiveBufferBytes);
    }

    @Test
    void windowScaleOfSynFitsMaximumBuffer() {
        new Dialogue(Dialogue.plain().initialReceiveBufferBytes(INITIAL).maxReceiveBufferBytes(4 << 20)).connect()
                .says("S 0 win 20000 ws 7");
        new Dialogue(Dialogue.plain().initialReceiveBufferBytes(INITIAL)).connect().says("S 0 win 20000 ws 0");
    }
}
