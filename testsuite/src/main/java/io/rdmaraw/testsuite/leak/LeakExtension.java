package io.rdmaraw.testsuite.leak;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.testsuite.net.Await;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * Runs a test class with Netty's leak detector at {@code paranoid}. Fails the class if a buffer was leaked, or if slots
 * of a loop that has ended were not released.
 */
public final class LeakExtension implements BeforeAllCallback, AfterAllCallback {
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int DESCRIBED_SLOTS = 8;
    private static final AtomicInteger CANARIES = new AtomicInteger();

    private ResourceLeakDetector.Level levelBefore;
    private int slabsBefore;

    @Override
    public void beforeAll(ExtensionContext context) {
        if (!isOutermost(context)) {
            return;
        }
        if (!RecordingLeakDetector.isInUse()) {
            throw new IllegalStateException("run with -Dio.netty.customResourceLeakDetector="
                    + RecordingLeakDetector.class.getName());
        }
        findLost();
        slabsBefore = Slab.heldSlabCount();
        levelBefore = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (!isOutermost(context)) {
            return;
        }
        List<String> lost;
        try {
            lost = findLost();
        } finally {
            ResourceLeakDetector.setLevel(levelBefore);
        }
        LostByFramework known = context.getRequiredTestClass().getAnnotation(LostByFramework.class);
        lost.removeIf(report -> known != null && wasLastGivenTo(known.handler(), report));
        if (!lost.isEmpty()) {
            throw new AssertionError(lost.size() + " buffers were not released; the first: " + lost.getFirst());
        }
        try {
            Await.until("the slots of loops that have ended", LIMIT, () -> Slab.heldSlabCount() <= slabsBefore);
        } catch (AssertionError e) {
            List<String> held = Slab.describeHeldSlots();
            throw new AssertionError(Slab.heldSlabCount() + " slabs of loops that have ended lack slots, before the"
                    + " class it were " + slabsBefore + "; " + held.size() + " slots are held:\n"
                    + held.stream().limit(DESCRIBED_SLOTS).collect(Collectors.joining("\n")), e);
        }
    }

    /**
     * Returns whether a handler was the last one that received the buffer. The newest record of a report comes first.
     */
    static boolean wasLastGivenTo(String handler, String report) {
        int newest = report.indexOf("#1:");
        return newest >= 0 && report.substring(newest + "#1:".length()).stripLeading()
                .startsWith("Hint: '" + handler + "' will handle the message from this point.");
    }

    private static boolean isOutermost(ExtensionContext context) {
        return context.getRequiredTestClass().getEnclosingClass() == null;
    }

    /**
     * Collects garbage until a buffer that is leaked on purpose is reported. Earlier leaks have then been reported,
     * too.
     */
    private static List<String> findLost() {
        ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
        List<String> found = new ArrayList<>();
        try {
            // Netty reports identical leaks only once, so each canary is different.
            String canary = "lost on purpose, to see that losses are found: " + CANARIES.incrementAndGet();
            lose(canary);
            Await.until("the leak detector", LIMIT, () -> {
                System.gc();
                // The detector checks for leaks when it starts to track another buffer.
                UnpooledByteBufAllocator.DEFAULT.directBuffer(1).release();
                found.addAll(RecordingLeakDetector.takeReports());
                return found.removeIf(report -> report.contains(canary));
            });
        } finally {
            ResourceLeakDetector.setLevel(level);
        }
        return found;
    }

    private static void lose(String canary) {
        UnpooledByteBufAllocator.DEFAULT.directBuffer(1).touch(canary);
    }
}
