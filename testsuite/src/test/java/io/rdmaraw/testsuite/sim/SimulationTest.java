package io.rdmaraw.testsuite.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.TcpState;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimulationTest {
    @Test
    @Tag("slow")
    void thousandsOfSeedsViolateNoInvariant() throws Exception {
        runSeeds(3_000);
    }

    /** A fast version of {@link #thousandsOfSeedsViolateNoInvariant}. */
    @Test
    void hundredsOfSeedsViolateNoInvariant() throws Exception {
        runSeeds(300);
    }

    private static void runSeeds(int seeds) throws Exception {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        int code = SimMain.run(new String[] {"--seeds", String.valueOf(seeds), "--json"}, new PrintStream(text, true,
                StandardCharsets.UTF_8));
        String printed = text.toString(StandardCharsets.UTF_8);
        assertEquals(0, code, printed);
        String last = printed.strip().lines().reduce((a, b) -> b).orElseThrow();
        assertTrue(last.startsWith("{\"seeds\": " + seeds + ",") && last.contains("\"violations\": 0")
                && last.contains("\"firstFailingSeed\": null"), last);
    }

    @Test
    void seedReproducesTheSameBytes() {
        for (long seed = 1; seed <= 200; seed++) {
            assertEquals(fingerprint(seed), fingerprint(seed), "seed " + seed);
        }
    }

    private static String fingerprint(long seed) {
        CRC32 crc = new CRC32();
        int[] packets = new int[1];
        Simulation simulation = new Simulation(new Scenario(seed, 0, null), EngineHost::new, (now, packet) -> {
            crc.update(ByteBuffer.allocate(8).putLong(now).flip());
            crc.update(packet);
            packets[0]++;
        });
        simulation.run();
        return packets[0] + " packets, " + crc.getValue() + ", ends at " + simulation.nowNanos();
    }

    /** A connection can move to another loop in every state that a user can observe. */
    @Test
    void connectionsMoveBetweenLoopsInEveryUserState() {
        List<EngineHost> hosts = new ArrayList<>();
        for (long seed = 1; seed <= 500; seed++) {
            new Simulation(new Scenario(seed, 0, null), (scenario, client) -> {
                hosts.add(new EngineHost(scenario, client));
                return hosts.getLast();
            }, null).run();
        }
        EnumSet<TcpState> states = EnumSet.noneOf(TcpState.class);
        hosts.forEach(host -> states.addAll(host.movedIn()));
        assertEquals(EnumSet.range(TcpState.SYN_SENT, TcpState.LAST_ACK), states);
    }

    /** Runs the reference peer at both ends. A failure is an error of the simulator itself. */
    @Test
    void referencePeerViolatesNoInvariantAgainstItself() {
        Simulator simulator = new Simulator(null, Scenario.Ends.CORE_TO_REFERENCE);
        for (long seed = 1; seed <= 500; seed++) {
            assertNull(simulator.run(seed, 0));
        }
    }

    @Test
    void disablingOneFaultKeepsTheOthers() {
        for (long seed = 1; seed < 200; seed++) {
            Scenario all = new Scenario(seed, 0, null);
            Scenario without = new Scenario(seed, Fault.LOSS.bit(0), null);
            assertEquals(0, without.forward.lossProbability);
            assertEquals(all.backward.toString(), without.backward.toString());
            all.forward.lossProbability = 0;
            assertEquals(all.forward.toString(), without.forward.toString());
        }
    }

    /** Uses a core that fails in every run, so that shrinking can disable all faults. */
    @Test
    void failureIsShrunkAndCaptured(@TempDir Path directory) throws Exception {
        Simulation.CoreFactory broken = (scenario, client) -> new EngineHost(scenario, client) {
            @Override
            public void checkEmpty() {
                throw new SimulationFailure("planted", "always");
            }
        };
        Simulator simulator = new Simulator(broken, null);
        Simulator.Failure failure = simulator.run(7, 0);
        assertNotNull(failure);
        Simulator.Failure smallest = simulator.shrink(failure);
        assertEquals("planted", smallest.rule());
        assertEquals((1L << Fault.bits()) - 1, smallest.off(), "every fault can be switched off here");
        Path file = directory.resolve("capture.pcap");
        simulator.capture(smallest, file);
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer capture = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(0xa1b2_3c4d, capture.getInt(0), "pcap with nanoseconds");
        assertEquals(101, capture.getInt(20), "link type RAW");
        byte[] first = java.util.Arrays.copyOfRange(bytes, 40, 40 + capture.getInt(32));
        Packet syn = Packet.decode(first);
        assertTrue(syn.has(Packet.SYN) && !syn.has(Packet.ACK), syn.toString());
    }

    @Test
    void invalidArgumentsAreRejected() throws Exception {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        assertEquals(2, SimMain.run(new String[] {"--seeds", "many"}, new PrintStream(text)));
        assertEquals(2, SimMain.run(new String[] {"--frobnicate", "1"}, new PrintStream(text)));
        assertEquals(2, SimMain.run(new String[] {"--seeds"}, new PrintStream(text)));
        assertTrue(text.toString(StandardCharsets.UTF_8).contains("usage"));
    }
}
