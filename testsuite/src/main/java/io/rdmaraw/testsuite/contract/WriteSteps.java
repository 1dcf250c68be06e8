package io.rdmaraw.testsuite.contract;

import io.netty.channel.Channel;
import io.netty.channel.ChannelProgressiveFuture;
import io.netty.channel.ChannelProgressiveFutureListener;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.rdmaraw.testsuite.contract.BufferKind.After;
import io.rdmaraw.testsuite.contract.BufferKind.Shape;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Steps that write to streams. */
final class WriteSteps {
    /** The kind of the promise of a write. */
    enum Promised { NORMAL, VOID, PROGRESSIVE }

    /** Offset between the content numbers of a broadcast's rounds, which start at the number of the step. */
    static final int ROUND = 1000;

    private WriteSteps() {
    }

    /** Passes a message to the channel and observes its promise. */
    static void write(Channel channel, Object message, WriteRecord record, Promised promised, boolean flush,
            Runnable done) {
        ChannelPromise promise = switch (promised) {
            case NORMAL -> channel.newPromise();
            case VOID -> channel.voidPromise();
            case PROGRESSIVE -> progressive(channel, record);
        };
        if (promised == Promised.VOID) {
            record.withoutPromise = true;
        } else {
            promise.addListener(future -> {
                record.complete(future);
                done.run();
            });
        }
        if (flush) {
            channel.writeAndFlush(message, promise);
        } else {
            channel.write(message, promise);
        }
    }

    private static ChannelPromise progressive(Channel channel, WriteRecord record) {
        ChannelProgressivePromise promise = channel.newProgressivePromise();
        promise.addListener(new ChannelProgressiveFutureListener() {
            @Override
            public void operationProgressed(ChannelProgressiveFuture future, long progress, long total) {
                record.progressed(progress);
            }

            @Override
            public void operationComplete(ChannelProgressiveFuture future) {
                // The other listener records the result.
            }
        });
        return promise;
    }

    record Write(int end, BufferKind kind, Shape shape, int length, After after, Promised promised, boolean flush)
            implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target == null) {
                return;
            }
            Payload payload = new Payload(kind, shape, id, length, target.channel.alloc());
            WriteRecord record = run.record(payload.message, id, length);
            run.atEnd(() -> payload.end(run, id));
            write(target.channel, payload.message, record, promised, flush, () -> {
                run.progressed();
                payload.after(after);
            });
        }

        @Override
        public String source(int id) {
            return Program.name(end) + (flush ? ".writeAndFlush(" : ".write(") + kind + "." + shape + '(' + length
                    + "), " + promised + ") /* " + id + ", then " + after + " */";
        }
    }

    record Flush(int end) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            Endpoint target = run.end(end);
            if (target != null) {
                target.channel.flush();
            }
        }

        @Override
        public String source(int id) {
            return Program.name(end) + ".flush()";
        }
    }

    record Region(int end, Regions.Kind kind, int length, Promised promised, boolean flush) implements Step {
        private static final int PAUSE_MILLIS = 1;

        @Override
        public void run(ProgramRun run, int id) throws Exception {
            Endpoint target = run.end(end);
            if (target == null) {
                return;
            }
            AtomicBoolean asked = new AtomicBoolean();
            AtomicBoolean ready = new AtomicBoolean();
            FileRegion region = Regions.create(kind, id, length, () -> {
                if (asked.compareAndSet(false, true)) {
                    // The bytes become available when the loop runs its next timer.
                    target.channel.eventLoop().schedule(() -> ready.set(true), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                }
                return ready.get() || run.ending;
            }, run.files);
            WriteRecord record = run.record(region, id, kind == Regions.Kind.EMPTY ? 0 : length);
            write(target.channel, region, record, promised, flush, run::progressed);
            run.atEnd(() -> run.observe("step" + id + ".references", String.valueOf(region.refCnt())));
        }

        @Override
        public String source(int id) {
            return Program.name(end) + (flush ? ".writeAndFlush(region(" : ".write(region(") + kind + ", " + length
                    + "), " + promised + ") /* " + id + " */";
        }
    }

    /** Writes a buffer to all clients or all accepted channels with a channel group, in rounds. */
    record Broadcast(boolean toAccepted, BufferKind kind, int length, int rounds, After after) implements Step {
        @Override
        public void run(ProgramRun run, int id) {
            ChannelGroup group = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
            List<Endpoint> members = new ArrayList<>();
            for (int i = toAccepted ? 1 : 0; run.end(i) != null; i += 2) {
                if (run.end(i).channel.isActive()) {
                    members.add(run.end(i));
                    group.add(run.end(i).channel);
                }
            }
            // A handler or a task must not wait for promises of the loop that it runs on.
            int rounds = Nesting.isInside() ? 1 : this.rounds;
            StringBuilder results = new StringBuilder();
            for (int round = 0; round < rounds; round++) {
                int content = id + (round + 1) * ROUND;
                Payload payload = new Payload(kind, Shape.RETAINED, content, length, run.clients().getFirst().channel
                        .alloc());
                List<WriteRecord> records = members.stream().map(each -> run.recordBroadcast(each, content, length))
                        .toList();
                Future<Void> all = group.writeAndFlush(payload.message);
                all.addListener(future -> {
                    records.forEach(each -> each.complete(future));
                    run.progressed();
                });
                boolean done = !Nesting.isInside() && run.await(all::isDone);
                results.append(!done ? "pending " : all.isSuccess() ? "ok " : "failed ");
                if (done) {
                    payload.after(after);
                }
                run.atEnd(() -> payload.end(run, content));
            }
            run.observe("step" + id + ".broadcast", results.toString().strip());
        }

        @Override
        public String source(int id) {
            return "groupOf(" + (toAccepted ? "accepted" : "clients") + ").writeAndFlush(" + kind + ".RETAINED("
                    + length + ")) /* " + id + ", " + rounds + " rounds, after each " + after + " */";
        }
    }
}
