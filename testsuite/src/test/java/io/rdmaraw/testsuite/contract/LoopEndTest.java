package io.rdmaraw.testsuite.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.contract.BufferKind.After;
import io.rdmaraw.testsuite.contract.BufferKind.Shape;
import io.rdmaraw.testsuite.contract.Step.Numbered;
import io.rdmaraw.testsuite.contract.WriteSteps.Promised;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Programs that end or suspend a loop, and programs on new loops. */
class LoopEndTest {
    private static final int BYTES_BEYOND_WINDOW = 300_000;
    private static final long WAIT_NANOS = 1_000_000_000;
    private static final ThreadFactory THREADS = new DefaultThreadFactory("contract-faulty", true);

    @Test
    @Tag("slow")
    void loopThatEndsWithoutItsBytesIsFound() {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:loop:loop-end")
                .drainTimeout(0, TimeUnit.NANOSECONDS).build();
        assertFinds(loops -> new RdmaRawEventLoopGroup(loops, THREADS, config), new LoopSteps.EndGroup(false, false));
    }

    @Test
    @Tag("slow")
    void suspendedLoopThatKeepsItsBytesIsFound() {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:loop:loop-suspended").build();
        assertFinds(loops -> new MultiThreadIoEventLoopGroup(loops, THREADS,
                new Suspendable(RdmaRawIoHandler.newFactory(config))), new LoopSteps.Suspend(0));
    }

    /** A factory with a planted fault: a loop without channels may be suspended, although connections have bytes. */
    private record Suspendable(IoHandlerFactory factory) implements IoHandlerFactory {
        @Override
        public IoHandler newHandler(ThreadAwareExecutor loop) {
            return factory.newHandler(loop);
        }

        @Override
        public boolean isChangingThreadSupported() {
            return true;
        }
    }

    private static void assertFinds(IntFunction<EventLoopGroup> groups, Step last) {
        Transport own = Transport.rdmaRaw();
        Transport faulty = new Transport("faulty", groups, groups, own.server(), own.client(), own.datagram());
        try (Comparison comparison = Comparison.patient(faulty)) {
            Difference found = comparison.compare(program(last), any -> false).stream()
                    .filter(each -> each.key().equals("accepted0.received")).findFirst().orElseThrow();
            assertTrue(found.oursHas("=part"), found.toString());
            assertFalse(AcceptedDifferences.accept(found));
        }
    }

    @Test
    void loopThatEndsInItsTaskSendsItsBytes() {
        Map<String, String> seen = run(program(new LoopSteps.EndGroup(false, false)), WAIT_NANOS);
        assertEquals("all", seen.get("accepted0.received"));
        assertEquals("true", seen.get("step2.ended"));
    }

    private static Program program(Step last) {
        return new Program(1, Map.of(), List.of(new Numbered(3, new LoopSteps.OnLoop(0, List.of(
                write(0, BYTES_BEYOND_WINDOW), new Numbered(1, new StreamSteps.Invoke(0, StreamSteps.Call.CLOSE)),
                new Numbered(2, last))))));
    }

    private static Map<String, String> run(Program program, long quietNanos) {
        Groups groups = new Groups(Transport.rdmaRaw());
        try {
            return new ProgramRun(program, groups, quietNanos).run();
        } finally {
            groups.discard();
        }
    }

    @Test
    void generatedProgramsEndAndSuspendLoopsInOneTask() {
        Set<String> ends = new TreeSet<>();
        for (long seed = 1; seed <= 300; seed++) {
            List<Numbered> steps = ProgramGenerator.generate(seed).steps().getLast().step().inner();
            if (steps.size() == 3 && steps.getFirst().step() instanceof WriteSteps.Write write
                    && write.length() >= 100_000) {
                ends.add(steps.getLast().step().getClass().getSimpleName());
            }
        }
        assertTrue(ends.containsAll(Set.of("EndGroup", "Suspend")), ends.toString());
    }

    /** The first connection of new loops takes longer than the wait for an event that does not come. */
    @Test
    void programWaitsForItsConnections() {
        Program program = new Program(1, Map.of(Choice.MORE_CONNECTIONS, 2, Choice.DATAGRAMS, 1), List.of());
        assertNull(run(program, 1).get("program"));
    }

    /** The end of a run closes the client, so that a hook of the accepted channel writes to a closed client. */
    @Test
    void writeAtCompletionOfLastReadMaySucceed() {
        Numbered hook = new Numbered(0, new LoopSteps.Hook(1, Endpoint.On.READ_COMPLETE, List.of(
                write(1, 100), write(1, 2))));
        assertTrue(AcceptedDifferences.accept(written(hook)));
        assertFalse(AcceptedDifferences.accept(written(write(1, 2))));
    }

    private static Difference written(Numbered step) {
        return difference(step, "step2.promise", "ok", "IOException");
    }

    /** The state is observed before the end of the run closes the client, and no byte is lost by it. */
    @Test
    void writeAtCompletionOfLastReadExplainsNoOtherDifference() {
        Numbered hook = new Numbered(0, new LoopSteps.Hook(1, Endpoint.On.READ_COMPLETE, List.of(write(1, 100))));
        assertTrue(AcceptedDifferences.accept(difference(hook, "accepted0.events", "read", "read !IOException")));
        assertFalse(AcceptedDifferences.accept(difference(hook, "accepted0.received", "w3=part", "all")));
        assertFalse(AcceptedDifferences.accept(difference(hook, "accepted0.state", "open", "")));
        assertFalse(AcceptedDifferences.accept(difference(hook, "accepted0.shutdowns", "", "shutdown")));
    }

    private static Difference difference(Numbered step, String key, String ours, String rivals) {
        return new Difference(new Program(1, Map.of(), List.of(step)), key, Set.of(ours), Set.of(rivals),
                Set.of(rivals), false, false);
    }

    /** The transport refuses the suspension, so that the loop runs the tasks of other threads as before. */
    @Test
    void runWaitsForTasksOfLoopThatWasNotSuspended() {
        SuspendAndTask suspend = new SuspendAndTask(new CountDownLatch(1), new AtomicBoolean(),
                new CompletableFuture<>());
        Program program = new Program(1, Map.of(), List.of(new Numbered(0, suspend),
                new Numbered(1, new NextStep(suspend))));
        assertEquals("true", run(program, WAIT_NANOS).get("step1.waited"));
    }

    /** A refused suspension, and a task that ends when the run waits for the loop or has gone on without it. */
    private record SuspendAndTask(CountDownLatch refused, AtomicBoolean hasGoneOn, CompletableFuture<Boolean> waited)
            implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            SingleThreadIoEventLoop loop = (SingleThreadIoEventLoop) run.end(0).loop;
            loop.execute(() -> {
                awaitUninterruptibly(refused);
                while (loop.pendingTasks() == 0 && !hasGoneOn.get()) {
                    Thread.onSpinWait();
                }
                waited.complete(loop.pendingTasks() > 0);
            });
            new LoopSteps.Suspend(0).run(run, id);
            refused.countDown();
        }

        @Override
        public String source(int id) {
            return "suspendAndTask()";
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private record NextStep(SuspendAndTask before) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            before.hasGoneOn().set(true);
            run.observe("step" + id + ".waited", String.valueOf(before.waited().join()));
        }

        @Override
        public String source(int id) {
            return "nextStep()";
        }
    }

    private static Numbered write(int end, int bytes) {
        return new Numbered(bytes, new WriteSteps.Write(end, BufferKind.HEAP, Shape.WHOLE, bytes, After.NOTHING,
                Promised.NORMAL, true));
    }
}
