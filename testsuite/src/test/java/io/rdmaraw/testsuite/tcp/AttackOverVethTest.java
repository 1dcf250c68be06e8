package io.rdmaraw.testsuite.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.Socket;
import java.util.SplittableRandom;
import java.util.concurrent.FutureTask;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Attacks a server with SYN floods and forged segments while clients on the kernel's TCP use it. */
@Timeout(180)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class AttackOverVethTest {
    private static final int FLOOD = 200_000;
    private static final int MIN_CONNECTIONS = 20;
    private static final int EXCHANGE_BYTES = 5_000;
    private static final long TEN_NET = 0xFFFF_0A00_0000L;

    @ParameterizedTest
    @ValueSource(strings = {"packet", "xdp"})
    void synFloodDoesNotBlockClients(String provider, TestNetwork network) throws Exception {
        try (EchoFixture fixture = new EchoFixture(network.withoutCapture(), provider);
                Socket established = fixture.connect()) {
            EchoFixture.exchange(established, EXCHANGE_BYTES, 0);
            FutureTask<Void> flood = new FutureTask<>(() -> flood(fixture), null);
            Thread.ofPlatform().daemon().name("SYN flood").start(flood);
            Await.until("the backlog to be full", () -> fixture.tcp("syn-cookies.sent") > 0);
            int opened = 0;
            while (!flood.isDone() || opened < MIN_CONNECTIONS) {
                EchoFixture.exchange(established, EXCHANGE_BYTES, opened);
                try (Socket socket = fixture.connect()) {
                    EchoFixture.exchange(socket, EXCHANGE_BYTES, ~opened);
                }
                opened++;
            }
            flood.get();
            EchoFixture.exchange(established, 1_000_000, opened);
            long byCookie = fixture.tcp("syn-cookies.accepted");
            assertTrue(byCookie >= MIN_CONNECTIONS / 2, byCookie + " of " + opened + " came in by a cookie");
            // Every SYN, including those of the clients, was answered or counted as dropped.
            Await.until("every SYN to be counted", () -> counted(fixture) >= FLOOD);
        }
    }

    private static long counted(EchoFixture fixture) {
        return fixture.tcp("syn-cookies.sent") + EchoFixture.BACKLOG + fixture.tcp("reply-queue-full")
                + fixture.queue("syn-ring-full") + fixture.queue("ring-full") + fixture.queue("no-receive");
    }

    private static void flood(EchoFixture fixture) {
        try (ForgedSegments forged = new ForgedSegments(fixture.pair().peer(), fixture.pair().ours())) {
            SplittableRandom random = new SplittableRandom(5);
            Segment syn = new Segment();
            for (int i = 0; i < FLOOD; i++) {
                forged.send(addressed(syn, fixture, TEN_NET + random.nextInt(1, 1 << 24), random.nextInt(1024, 65536))
                        .seq(random.nextInt()).flags(TcpFlags.SYN).window(65535).mss(1460).windowScale(7)
                        .sackPermitted(true).timestamps(i, 0));
            }
            forged.flush();
        }
    }

    private static Segment addressed(Segment segment, EchoFixture fixture, long source, int sourcePort) {
        return segment.clear().source(0, source, sourcePort).destination(0,
                ForgedSegments.mapped(fixture.pair().ours().ipv4()), fixture.server().getPort());
    }

    /**
     * RFC 5961: an attacker knows addresses and ports, and guesses sequence numbers at intervals of half a window, so
     * that one hits. The server answers the hit with a challenge ACK and keeps the connection.
     */
    @ParameterizedTest
    @ValueSource(ints = {TcpFlags.RST, TcpFlags.RST | TcpFlags.ACK, TcpFlags.SYN, TcpFlags.ACK})
    void guessedSequenceNumbersDoNotDisturbTheConnection(int flags, TestNetwork network) throws Exception {
        ByteBuf lies = Unpooled.directBuffer(16).writeZero(16);
        try (EchoFixture fixture = new EchoFixture(network.withoutCapture(), "xdp");
                Socket socket = fixture.connect()) {
            EchoFixture.exchange(socket, EXCHANGE_BYTES, 1);
            RdmaRawSocketChannel child = (RdmaRawSocketChannel) fixture.children().iterator().next();
            int step = child.tcpInfo().sync().getNow().receiveWindowBytes() / 2;
            long before = challenges(fixture, flags);
            // Repeats the attempt, because a busy receiver may have dropped the guesses that lie in the window.
            Await.until("a guess to fall into the window", () -> {
                guessAll(fixture, socket.getLocalPort(), flags, step, lies);
                return challenges(fixture, flags) > before;
            });
            EchoFixture.exchange(socket, 1_000_000, 2);
            assertTrue(child.isActive());
            assertEquals(1, fixture.children().size());
        } finally {
            lies.release();
        }
    }

    private static void guessAll(EchoFixture fixture, int port, int flags, int step, ByteBuf lies) {
        long source = ForgedSegments.mapped(fixture.pair().peer().ipv4());
        int neverSent = fixture.children().iterator().next().hashCode();
        try (ForgedSegments forged = new ForgedSegments(fixture.pair().peer(), fixture.pair().ours())) {
            Segment guess = new Segment();
            for (long seq = 0; seq < 1L << 32; seq += step) {
                addressed(guess, fixture, source, port).seq((int) seq).flags(flags).window(1000);
                if (flags == TcpFlags.ACK) {
                    guess.ack(neverSent).payload(lies, 0, lies.readableBytes());
                }
                forged.send(guess);
                guess.detachPayload();
            }
            forged.flush();
        }
    }

    /** Data that acknowledges unsent data is counted like a segment outside the window. */
    private static long challenges(EchoFixture fixture, int flags) {
        return flags == TcpFlags.ACK ? fixture.tcp("out-of-window") : fixture.tcp("rejected-segments");
    }
}
