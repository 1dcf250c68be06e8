package io.rdmaraw.testsuite.contract;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.util.concurrent.Future;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Steps that select a thread, wait, throw, or end loops. */
final class LoopSteps {
    private LoopSteps() {
    }

    private static boolean isOnLoop(Endpoint end) {
        return end.channel.isRegistered() && end.channel.eventLoop().inEventLoop();
    }

    /** Performs steps in a task of a channel's loop, and waits for the task. */
    record OnLoop(int end, List<Numbered> inner) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target == null || !target.channel.isRegistered()) {
                return;
            }
            CountDownLatch done = new CountDownLatch(1);
            try {
                target.channel.eventLoop().execute(() -> {
                    Nesting.enter(run);
                    try {
                        run.perform(inner);
                    } catch (ProgramException | ProgramError thrown) {
                        run.observe("step" + id + ".task", Failures.name(thrown));
                    } finally {
                        Nesting.exit();
                        done.countDown();
                        run.progressed();
                    }
                });
            } catch (RejectedExecutionException ended) {
                run.observe("step" + id + ".task", "rejected");
                return;
            }
            if (!target.channel.eventLoop().inEventLoop() && !Nesting.isInside()) {
                run.await(() -> done.getCount() == 0);
            }
        }

        @Override
        public String source(int id) {
            return Program.name(end) + ".eventLoop().execute(() ->";
        }

        @Override
        public Step withInner(List<Numbered> steps) {
            return new OnLoop(end, steps);
        }
    }

    /** Performs steps on a thread that is not an event loop, and waits for it. */
    record OnThread(List<Numbered> inner) implements Step {
        @Override
        public void run(ProgramRun run, int id) throws InterruptedException {
            Thread thread = Thread.ofPlatform().daemon().start(() -> {
                try {
                    run.perform(inner);
                } catch (ProgramException | ProgramError thrown) {
                    run.observe("step" + id + ".thread", Failures.name(thrown));
                }
            });
            thread.join();
        }

        @Override
        public String source(int id) {
            return "inOtherThread(() ->";
        }

        @Override
        public Step withInner(List<Numbered> steps) {
            return new OnThread(steps);
        }
    }

    /** Performs steps in the handler of a channel when an event occurs next. */
    record Hook(int end, Endpoint.On event, List<Numbered> inner) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target != null) {
                target.hook(event, inner);
            }
        }

        @Override
        public String source(int id) {
            return Program.name(end) + ".onNext(" + event + ", () ->";
        }

        @Override
        public Step withInner(List<Numbered> steps) {
            return new Hook(end, event, steps);
        }
    }

    /** Waits until all sent data has arrived where it can arrive. */
    record Settle() implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            run.settle();
        }

        @Override
        public String source(int id) {
            return "settle()";
        }
    }

    /** Waits until a channel of another loop has received everything that was sent to it. May run in a handler. */
    record AwaitReceived(int end) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target == null || isOnLoop(target) || !target.reads()) {
                return;
            }
            run.observe("step" + id + ".arrived", String.valueOf(run.await(target::hasReceivedAll)));
        }

        @Override
        public String source(int id) {
            return "awaitReceived(" + Program.name(end) + ") /* " + id + " */";
        }
    }

    /** Waits until the promises of all writes on other loops have completed. May run in a handler. */
    record AwaitSent() implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            run.await(run::isSent);
        }

        @Override
        public String source(int id) {
            return "awaitPromises()";
        }
    }

    record Throw(boolean error) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            if (error) {
                throw new ProgramError();
            }
            throw new ProgramException();
        }

        @Override
        public String source(int id) {
            return error ? "throw new ProgramError()" : "throw new ProgramException()";
        }
    }

    /** Suspends a channel's loop if Netty permits it. The next task resumes the loop. May run in a task. */
    record Suspend(int end) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            EventLoop loop = target == null ? null : target.loop;
            if (loop instanceof SingleThreadIoEventLoop single) {
                if (!single.inEventLoop()) {
                    run.await(() -> !target.channel.isRegistered());
                }
                if (single.trySuspend()) {
                    run.leavesSuspended(single);
                }
            }
        }

        @Override
        public String source(int id) {
            return Program.name(end) + ".eventLoop().trySuspend()";
        }
    }

    /** Shuts down the group of the servers or of the clients, with or without a quiet period. May run in a task. */
    record EndGroup(boolean ofServers, boolean quietPeriod) implements Step {
        private static final int TIMEOUT_SECONDS = 5;
        private static final int QUIET_MILLIS = 50;

        @Override
        public void run(ProgramRun run, int id) {
            EventLoopGroup group = ofServers ? run.serverGroup() : run.clientGroup();
            run.endsGroup = true;
            Future<?> ended = group.shutdownGracefully(quietPeriod ? QUIET_MILLIS : 0, TIMEOUT_SECONDS * 1000,
                    TimeUnit.MILLISECONDS);
            ended.addListener(any -> run.progressed());
            Runnable wait = () -> run.observe("step" + id + ".ended", String.valueOf(run.awaitLong(ended::isDone)));
            if (Nesting.isInside()) {
                run.atEnd(wait);
            } else {
                wait.run();
            }
        }

        @Override
        public String source(int id) {
            return (ofServers ? "serverGroup" : "clientGroup") + ".shutdownGracefully(" + (quietPeriod ? QUIET_MILLIS
                    : 0) + ", 5000, MILLISECONDS)";
        }
    }

    /** Accesses a received message from two threads: one uses internalNioBuffer, the other one a duplicate. */
    record ShareMessage(int end) implements Step {
        private static final long DURATION_NANOS = 40_000_000;
        private static final int LENGTH = 1000;

        @Override
        public void run(ProgramRun run, int id) throws InterruptedException {
            Endpoint target = run.end(end);
            if (target == null || Nesting.isInside() || !target.reads()) {
                return;
            }
            target.shares = true;
            ByteBuf bytes = Unpooled.wrappedBuffer(Content.of(id, LENGTH, false));
            WriteRecord record = run.record(bytes, id, LENGTH);
            WriteSteps.write(target.peer.channel, bytes, record, WriteSteps.Promised.NORMAL, true, run::progressed);
            boolean arrived = run.await(() -> target.shared() != null);
            target.shares = false;
            run.observe("step" + id + ".views", "none");
            if (!arrived) {
                return;
            }
            ByteBuf message = target.shared();
            if (message.nioBufferCount() != 1) {
                message.release();
                return;
            }
            ByteBuf duplicate = message.retainedDuplicate();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread other = Thread.ofPlatform().daemon().start(() -> {
                try {
                    long began = System.nanoTime();
                    while (System.nanoTime() - began < DURATION_NANOS) {
                        ByteBuffer view = duplicate.nioBuffer();
                        view.get(view.position());
                    }
                } catch (Throwable thrown) {
                    failure.set(thrown);
                } finally {
                    duplicate.release();
                }
            });
            int length = message.readableBytes();
            for (int i = 0; other.isAlive() && length > 1; i++) {
                message.internalNioBuffer(message.readerIndex(), 1 + i % (length - 1));
            }
            other.join();
            message.release();
            run.observe("step" + id + ".views", Failures.name(failure.get()));
        }

        @Override
        public String source(int id) {
            return "internalNioBufferBesideNioBufferOfDuplicate(" + Program.name(end) + ".nextMessage())";
        }
    }
}
