package io.rdmaraw.testsuite.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class LeftoversTest {
    @Test
    void namesTellTheirProcess() {
        long pid = ProcessHandle.current().pid();
        assertEquals(OptionalLong.of(pid), NetworkNames.owner(NetworkNames.namespace(12)));
        assertEquals(OptionalLong.of(pid), NetworkNames.owner(NetworkNames.networkInterface(12, 'b')));
        assertEquals(OptionalLong.of(4_194_304), NetworkNames.owner("rr2hwcg_1za"));
        assertEquals(OptionalLong.empty(), NetworkNames.owner("rr"));
        assertEquals(OptionalLong.empty(), NetworkNames.owner("eth0"));
        assertEquals(OptionalLong.empty(), NetworkNames.owner("myrdmaraw-1-1"));
    }

    @Nested
    @WithTestNetwork
    class OfAKilledRun {
        /** A process id that no process can have: it is above PID_MAX_LIMIT (4,194,304). */
        private static final String NAMESPACE = "rdmaraw-9999999-0";
        private static final String INTERFACE = "rr5yc1r_0a";

        @AfterEach
        void removeByHand() {
            Ip.attempt("netns", "del", NAMESPACE);
            Ip.attempt("link", "del", "dev", INTERFACE);
        }

        @Test
        void areRemovedAndNoOthers(TestNetwork network) throws Exception {
            assertEquals(OptionalLong.of(9_999_999), NetworkNames.owner(INTERFACE));
            NetworkNamespace living = network.namespace();
            Ip.run("netns", "add", NAMESPACE);
            Ip.run("link", "add", INTERFACE, "type", "veth", "peer", "name", "rr5yc1r_0b");
            Process program = new ProcessBuilder("ip", "netns", "exec", NAMESPACE, "sleep", "1000").start();
            try {
                // Wait until the program has entered the namespace. Leftovers.remove() finds it only there.
                Await.until("sleep in " + NAMESPACE, () ->
                        Ip.attempt("netns", "pids", NAMESPACE).output().contains(Long.toString(program.pid())));
                Leftovers.remove();
                program.waitFor();
            } finally {
                program.destroyForcibly();
            }
            assertFalse(NetworkNamespace.list().contains(NAMESPACE));
            assertNotEquals(0, Ip.attempt("link", "show", "dev", INTERFACE).exitCode());
            assertTrue(NetworkNamespace.list().contains(living.name()));
        }
    }
}
