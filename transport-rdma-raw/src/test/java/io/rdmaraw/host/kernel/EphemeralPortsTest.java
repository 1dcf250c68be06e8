package io.rdmaraw.host.kernel;

import io.rdmaraw.net.IpAddress;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.BindException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

class EphemeralPortsTest {
    private static final IpAddress LOCAL = IpAddress.parse("10.0.0.1");
    private static final IpAddress REMOTE = IpAddress.parse("10.0.0.2");
    /** Number of ports in Linux's default net.ipv4.ip_local_port_range, 32768 to 60999. */
    private static final int PORTS = 28_232;
    private static final int FIRST_PORT = 32_768;

    private final BitSet taken = new BitSet();
    private final EphemeralPorts ports = new EphemeralPorts(this::reserve);
    private int asked;

    private EphemeralPorts.Reservation reserve(EphemeralPorts.Local local, int port) throws IOException {
        asked++;
        int chosen = port != 0 ? port - FIRST_PORT : taken.nextClearBit(0);
        if (chosen >= PORTS || taken.get(chosen)) {
            throw new BindException("Address already in use");
        }
        taken.set(chosen);
        return new EphemeralPorts.Reservation(FIRST_PORT + chosen, () -> {
            assertTrue(taken.get(chosen));
            taken.clear(chosen);
        });
    }

    private List<EphemeralPorts.Reservation> takeAll(int remotePort) throws IOException {
        List<EphemeralPorts.Reservation> all = new ArrayList<>();
        Set<Integer> numbers = new HashSet<>();
        for (int i = 0; i < PORTS; i++) {
            EphemeralPorts.Reservation made = ports.reserve(LOCAL, 0, 0, REMOTE, remotePort);
            assertTrue(numbers.add(made.port()), "a port twice towards one peer");
            all.add(made);
        }
        return all;
    }

    @Test
    void eachPeerHasAllPorts() throws IOException {
        List<EphemeralPorts.Reservation> first = takeAll(80);
        List<EphemeralPorts.Reservation> second = takeAll(443);
        assertEquals(PORTS, taken.cardinality());
        BindException refused = assertThrows(BindException.class, () -> ports.reserve(LOCAL, 0, 0, REMOTE, 80));
        assertTrue(refused.getMessage().contains("in use"), refused.getMessage());
        // A port released for one peer is found again among all ports.
        EphemeralPorts.Reservation gone = first.removeLast();
        gone.close();
        gone.close();
        EphemeralPorts.Reservation again = ports.reserve(LOCAL, 0, 0, REMOTE, 80);
        assertEquals(gone.port(), again.port());
        first.add(again);
        second.forEach(EphemeralPorts.Reservation::close);
        first.forEach(EphemeralPorts.Reservation::close);
        assertEquals(0, taken.cardinality());
    }

    @Test
    void kernelIsNotAskedForEachConnectionWhenPortsAreExhausted() throws IOException {
        takeAll(80);
        int before = asked;
        for (int i = 0; i < 100; i++) {
            ports.reserve(LOCAL, 0, 0, REMOTE, 443);
        }
        // Once, and once more per second of the test.
        assertTrue(asked - before < 50, asked - before + " times");
    }

    @Test
    void explicitPortIsNotShared() throws IOException {
        EphemeralPorts.Reservation named = ports.reserve(LOCAL, 0, FIRST_PORT, REMOTE, 80);
        assertThrows(BindException.class, () -> ports.reserve(LOCAL, 0, FIRST_PORT, REMOTE, 443));
        named.close();
        ports.reserve(LOCAL, 0, FIRST_PORT, REMOTE, 443).close();
        assertEquals(0, taken.cardinality());
    }
}
