package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Distribution of the 4-tuple hash for realistic tuples: sequential addresses and ports. */
class DemultiplexerTest {
    private static final int TUPLES = 100_000;
    /** Number of slots of the table for these tuples; it is at most half full. */
    private static final int SLOTS = 1 << 18;

    private enum Pattern {
        /** One client with sequential ports, as behind a proxy. */
        PORTS {
            @Override
            int hash(ConnectionTable table, int i) {
                return table.hash(0, SERVER, 1 + i / 50_000, 0, CLIENT, 10_000 + i % 50_000);
            }
        },
        /** Sequential client addresses, all with the same port. */
        ADDRESSES {
            @Override
            int hash(ConnectionTable table, int i) {
                return table.hash(0, SERVER, 443, 0, CLIENT + i, 50_000);
            }
        },
        /** IPv6 networks with one host each, which differ only in the high half. */
        NETWORKS {
            @Override
            int hash(ConnectionTable table, int i) {
                return table.hash(0x2001_0DB8_0000_0000L, 1, 443, 0x2001_0DB8_0000_0000L + ((long) i << 16), 1, 50_000);
            }
        };

        private static final long SERVER = 0xFFFF_0A80_0001L;
        private static final long CLIENT = 0xFFFF_0A00_0001L;

        abstract int hash(ConnectionTable table, int i);
    }

    /** A random function leaves m * e^(-n/m) of m slots empty; a poor one leaves more. */
    @ParameterizedTest
    @EnumSource
    void distributesLikeARandomFunction(Pattern pattern) {
        ConnectionTable table = new ConnectionTable(0x0123_4567_89AB_CDEFL, 0x1122_3344_5566_7788L);
        BitSet taken = new BitSet(SLOTS);
        for (int i = 0; i < TUPLES; i++) {
            taken.set(pattern.hash(table, i) & SLOTS - 1);
        }
        double expected = SLOTS * (1 - Math.exp(-(double) TUPLES / SLOTS));
        assertEquals(expected, taken.cardinality(), 0.01 * expected);
    }

    /** Tuples that collide under one key do not collide under another, so outsiders cannot prepare collisions. */
    @ParameterizedTest
    @EnumSource
    void collisionsDependOnKey(Pattern pattern) {
        ConnectionTable table = new ConnectionTable(1, 2);
        ConnectionTable other = new ConnectionTable(0x7EDC_BA98_7654_3210L, 0x55AA_1234_9876_0F0FL);
        Map<Integer, Integer> first = new HashMap<>();
        int collisions = 0;
        int again = 0;
        for (int i = 0; i < TUPLES; i++) {
            Integer earlier = first.putIfAbsent(pattern.hash(table, i) & SLOTS - 1, i);
            if (earlier != null) {
                collisions++;
                again += (pattern.hash(other, i) - pattern.hash(other, earlier) & SLOTS - 1) == 0 ? 1 : 0;
            }
        }
        assertTrue(collisions > 1000, collisions + " collisions are too few to tell");
        assertTrue(again < collisions / 100, again + " of " + collisions + " pairs collide under both keys");
    }
}
