package io.rdmaraw.testsuite.contract;

import io.netty.channel.Channel;
import io.netty.util.concurrent.EventExecutor;

import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** Ends a run: checks that the loops still respond, closes the channels, and reports all observations. */
final class Ending {
    /** A loop that does not respond for this multiple of the usual wait counts as dead. */
    private static final int PATIENCE = 10;

    private final ProgramRun run;

    Ending(ProgramRun run) {
        this.run = run;
    }

    void run() {
        Set<EventExecutor> loops = new LinkedHashSet<>();
        run.ends().forEach(end -> {
            if (end.loop != null) {
                loops.add(end.loop);
            }
        });
        if (!run.endsGroup) {
            run.observe("loops", answer(loops) ? "alive" : "dead");
        }
        run.ending = true;
        List<Channel> channels = new ArrayList<>();
        run.clients().forEach(end -> channels.add(end.channel));
        channels.addAll(run.extras);
        close(channels);
        run.settle();
        channels.clear();
        run.ends().forEach(end -> channels.add(end.channel));
        run.allAccepted().forEach(end -> channels.add(end.channel));
        close(channels);
        run.await(() -> run.ends().stream().allMatch(Endpoint::isGone)
                && run.allAccepted().stream().allMatch(Endpoint::isGone));
        run.await(run::isSent);
        report();
        run.files.forEach(File::delete);
    }

    private boolean answer(Set<EventExecutor> loops) {
        AtomicInteger missing = new AtomicInteger(loops.size());
        for (EventExecutor loop : loops) {
            try {
                loop.execute(missing::decrementAndGet);
            } catch (java.util.concurrent.RejectedExecutionException ended) {
                return false;
            }
        }
        return run.await(() -> missing.get() == 0, PATIENCE) && loops.stream().noneMatch(EventExecutor::isShuttingDown);
    }

    private void close(List<Channel> channels) {
        channels.removeIf(channel -> channel == null || !channel.isOpen());
        channels.forEach(Channel::close);
        run.await(() -> channels.stream().noneMatch(Channel::isOpen));
    }

    private void report() {
        int limit = ReceiveAllocators.limit(run.program.get(Choice.RECEIVE));
        for (Endpoint end : run.ends()) {
            end.report(end.name.startsWith("accepted") ? limit : Integer.MAX_VALUE);
            run.observeState(end, "AtEnd");
            run.observe(end.name + ".optionAtEnd", ProgramRun.option(end.channel));
        }
        run.sent.values().forEach(write -> {
            run.observe("step" + write.id + ".promise", write.withoutPromise ? "none" : write.result());
            if (write.progressReports > 0) {
                run.observe("step" + write.id + ".progress", write.progressFell ? "fell" : "up to the " 
                        + (write.progress == write.length ? "end" : "middle"));
            }
        });
        run.observe("accepted", String.valueOf(run.acceptedCount()));
        run.takeEndings().forEach(Runnable::run);
    }
}
