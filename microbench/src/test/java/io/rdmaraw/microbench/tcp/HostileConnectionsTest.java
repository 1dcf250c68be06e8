package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

class HostileConnectionsTest {
    private static final long SECOND = 1_000_000_000;
    private static final long CLIENT = 0xFFFF_C612_0001L;
    private static final long SERVER = 0xFFFF_C612_0002L;

    private final List<Packet> sent = new ArrayList<>();
    private final HostileConnections connections = new HostileConnections(2, sent::add);

    private static Packet fromClient(int port, int flags) {
        Packet packet = new Packet().route(0, CLIENT, port, 0, SERVER, 80);
        packet.flags = flags;
        return packet;
    }

    private static Packet fromServer(int port, int flags) {
        Packet packet = new Packet().route(0, SERVER, 80, 0, CLIENT, port);
        packet.flags = flags;
        return packet;
    }

    @Test
    void aSynWithoutAnswerIsSentAgainEachSecond() {
        Packet syn = fromClient(1, Packet.SYN);
        connections.begin(syn, 0);
        connections.repeat(SECOND - 1);
        assertEquals(List.of(syn), sent);
        connections.repeat(SECOND);
        connections.repeat(2 * SECOND - 1);
        assertEquals(List.of(syn, syn), sent);
    }

    @Test
    void theAnswerIsSentAgainInsteadOfTheSynUntilTheServerShowsThatItCame() {
        Packet answer = fromClient(1, Packet.ACK);
        connections.begin(fromClient(1, Packet.SYN), 0);
        assertNull(connections.onSegment(fromServer(1, Packet.ACK)), "opened before the SYN-ACK");
        assertTrue(connections.answer(fromServer(1, Packet.SYN | Packet.ACK), answer));
        assertFalse(connections.answer(fromServer(1, Packet.SYN | Packet.ACK), answer));
        sent.clear();
        connections.repeat(SECOND);
        assertEquals(List.of(answer), sent);
        assertEquals(0, connections.open());
        assertSame(answer, connections.onSegment(fromServer(1, Packet.ACK)));
        assertEquals(1, connections.open());
        sent.clear();
        connections.repeat(10 * SECOND);
        assertEquals(List.of(), sent);
    }

    @Test
    void onlyConnectionsThatTheServerResetsAreReplaced() {
        for (int port = 1; port <= 2; port++) {
            assertTrue(connections.wantsMore());
            connections.begin(fromClient(port, Packet.SYN), 0);
            connections.answer(fromServer(port, Packet.SYN | Packet.ACK), fromClient(port, Packet.ACK));
            connections.onSegment(fromServer(port, Packet.ACK));
        }
        assertFalse(connections.wantsMore());
        assertNotNull(connections.openedBy(fromServer(2, Packet.ACK)));
        connections.onSegment(fromServer(2, Packet.RST));
        assertNull(connections.openedBy(fromServer(2, Packet.ACK)));
        assertTrue(connections.wantsMore());
        assertEquals(1, connections.open());
    }

    @Test
    void aPeerThatIsNeverAnsweredMakesRoomForAnotherOne() {
        connections.begin(fromClient(1, Packet.SYN), 0);
        connections.begin(fromClient(2, Packet.SYN), 0);
        for (int second = 1; second < 8; second++) {
            connections.repeat(second * SECOND);
            assertFalse(connections.wantsMore());
        }
        connections.repeat(8 * SECOND);
        assertTrue(connections.wantsMore());
        assertEquals(2 * 8, sent.size());
    }

    /** A SYN-ACK without options is shorter than the minimum Ethernet frame, so that devices pad it. */
    @Test
    void theirPacketsAreReadWithoutPadding() {
        byte[] packet = fromServer(1, Packet.SYN | Packet.ACK).encode();
        assertNull(Packet.decode(Arrays.copyOf(packet, 46)));
        assertArrayEquals(packet, HostileLoad.withoutPadding(Arrays.copyOf(packet, 46)));
        assertArrayEquals(packet, HostileLoad.withoutPadding(packet));
    }

    /** If the interface is to complete a checksum, the field contains only the sum of the pseudo header. */
    @Test
    void theirPacketsAreReadWithoutAChecksum() {
        Packet data = fromServer(1, Packet.ACK);
        data.payload = new byte[] {1, 2, 3, 4, 5};
        byte[] packet = data.encode();
        byte[] partial = packet.clone();
        int pseudo = 0xC612 + 0x0001 + 0xC612 + 0x0002 + 6 + packet.length - 20;
        pseudo = (pseudo & 0xFFFF) + (pseudo >> 16);
        partial[36] = (byte) (pseudo >> 8);
        partial[37] = (byte) pseudo;
        assertNull(Packet.decode(partial));
        assertArrayEquals(packet, HostileLoad.withChecksum(partial));
        partial[36] ^= 1;
        assertNull(Packet.decode(HostileLoad.withChecksum(partial)), "a wrong one stays wrong");
        assertArrayEquals(packet, HostileLoad.withChecksum(packet.clone()));
        assertEquals(0, HostileLoad.withChecksum(new byte[0]).length);
    }
}
