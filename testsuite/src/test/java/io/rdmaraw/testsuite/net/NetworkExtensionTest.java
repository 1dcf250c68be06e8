package io.rdmaraw.testsuite.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Runs tests that fail, to see what the extension leaves of them. */
@ExtendWith(NetworkExtension.class)
class NetworkExtensionTest {
    private static final String CAPTURES = "rdmaraw.captures";

    private static TestNetwork classNetwork;

    @BeforeAll
    static void aClassCanHaveANetwork(TestNetwork network) {
        classNetwork = network;
    }

    @Test
    void testsOfAClassShareItsNetwork(TestNetwork network) {
        assertEquals(classNetwork, network);
    }

    @Test
    void aFailedTestKeepsItsCaptureAndNothingElse(@TempDir Path directory) throws Exception {
        Event failed = run("fails", directory).testEvents().failed().list().getFirst();
        Throwable thrown = failed.getRequiredPayload(org.junit.platform.engine.TestExecutionResult.class)
                .getThrowable().orElseThrow();
        assertEquals("on purpose", thrown.getMessage());
        List<Path> files;
        try (var list = Files.list(directory)) {
            files = list.toList();
        }
        assertEquals(1, files.size());
        assertTrue(files.getFirst().getFileName().toString().startsWith("Subject.fails-rr"));
        assertTrue(thrown.getSuppressed()[0].getMessage().contains(files.getFirst().toString()));
        assertFalse(NetworkNamespace.list().contains(Subject.namespaceName));
    }

    @Test
    void aPassedTestLeavesNothing(@TempDir Path directory) throws Exception {
        assertEquals(1, run("passes", directory).testEvents().succeeded().count());
        try (var list = Files.list(directory)) {
            assertEquals(0, list.count());
        }
        assertFalse(NetworkNamespace.list().contains(Subject.namespaceName));
    }

    private static EngineExecutionResults run(String method, Path captures) {
        String before = System.getProperty(CAPTURES);
        System.setProperty(CAPTURES, captures.toString());
        try {
            return EngineTestKit.engine("junit-jupiter")
                    .selectors(selectMethod(Subject.class, method, TestNetwork.class.getName())).execute();
        } finally {
            if (before == null) {
                System.clearProperty(CAPTURES);
            } else {
                System.setProperty(CAPTURES, before);
            }
        }
    }

    /** Not found by Surefire, which leaves static nested classes alone. */
    @ExtendWith(NetworkExtension.class)
    static class Subject {
        static String namespaceName;

        @Test
        void passes(TestNetwork network) {
            namespaceName = network.vethPair().peer().namespace().name();
        }

        @Test
        void fails(TestNetwork network) {
            passes(network);
            fail("on purpose");
        }
    }
}
