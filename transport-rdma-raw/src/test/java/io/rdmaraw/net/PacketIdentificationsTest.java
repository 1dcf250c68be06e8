package io.rdmaraw.net;

import io.rdmaraw.wire.IpProtocol;
import org.junit.jupiter.api.Test;

import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

class PacketIdentificationsTest {
    private static final IpAddress HERE = IpAddress.parse("192.0.2.1");

    private final PacketIdentifications identifications = new PacketIdentifications(new SplittableRandom(1));

    private int counterOf(int peer) {
        return identifications.counterOf(HERE, IpAddress.ipv4(peer), IpProtocol.UDP);
    }

    @Test
    void peersHaveDifferentSequences() {
        int one = counterOf(1);
        int two = counterOf(2);
        int before = identifications.nextIpv6(one);
        for (int i = 0; i < 1000; i++) {
            identifications.nextIpv6(two);
        }
        int step = identifications.nextIpv6(one) - before;
        assertTrue(step > 0 && step <= 1024, () -> "the other peer's packets show: a step of " + step);
    }

    @Test
    void protocolAndKeyDetermineTheCounter() {
        PacketIdentifications other = new PacketIdentifications(new SplittableRandom(2));
        int sameOfProtocols = 0;
        int sameOfKeys = 0;
        for (int peer = 0; peer < 1000; peer++) {
            IpAddress address = IpAddress.ipv4(peer);
            sameOfProtocols += counterOf(peer) == identifications.counterOf(HERE, address, IpProtocol.ICMP) ? 1 : 0;
            sameOfKeys += counterOf(peer) == other.counterOf(HERE, address, IpProtocol.UDP) ? 1 : 0;
        }
        assertTrue(sameOfProtocols < 10 && sameOfKeys < 10, sameOfProtocols + " and " + sameOfKeys + " of 1000");
    }

    @Test
    void peersAreDistributedOverTheCounters() {
        Set<Integer> counters = new HashSet<>();
        for (int peer = 0; peer < 1000; peer++) {
            counters.add(counterOf(peer));
        }
        assertTrue(counters.size() > 900, counters.size() + " counters for 1000 peers");
    }

    @Test
    void stepsVaryAndNumbersDoNotRepeatSoon() {
        int counter = counterOf(1);
        Set<Integer> seen = new HashSet<>();
        Set<Integer> steps = new HashSet<>();
        int last = identifications.nextIpv4(counter);
        for (int i = 0; i < 16_000; i++) {
            int next = identifications.nextIpv4(counter);
            assertEquals(next & 0xffff, next, "16 bits");
            steps.add(next - last & 0xffff);
            assertTrue(seen.add(next), "again after " + i);
            last = next;
        }
        assertEquals(Set.of(1, 2, 3, 4), steps);
    }
}
