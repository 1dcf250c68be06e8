package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.report.BenchOptions;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** What the benches of servers have in common. */
abstract class ServerBenchCommand implements Callable<Integer> {
    @Mixin
    private BenchOptions options;

    @Spec
    private CommandSpec spec;

    /** The generators, the first of which warms the server up. */
    abstract List<LoadGenerator> generators();

    @Override
    public final Integer call() throws Exception {
        int runs = options.runs(3);
        ServerBench.Options how = options.quick() ? new ServerBench.Options(runs, 1, 9)
                : new ServerBench.Options(runs, 5, 20);
        return options.print(() -> new ServerBench(spec.name(), generators(), how, options.progress()).run());
    }
}
