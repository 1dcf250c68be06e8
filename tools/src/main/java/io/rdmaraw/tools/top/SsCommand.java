package io.rdmaraw.tools.top;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw ss}. */
@Command(name = "ss", mixinStandardHelpOptions = true,
        description = {"Prints the TCP connections of a running process on this transport, as ss(8) does with those of"
                + " the kernel, which does not know them. The process may be in another network namespace.",
            "Of each loop the 128 connections with the most bytes are listed; ./rdma-raw top counts them all."})
public final class SsCommand implements Callable<Integer> {
    @ArgGroup
    private ProcessChoice process = new ProcessChoice();

    @Option(names = {"-l", "--listening"}, description = "servers only")
    private boolean listening;

    @Option(names = {"-a", "--all"}, description = "servers and connections")
    private boolean all;

    @Option(names = {"-i", "--info"}, description = "what TCP knows of each connection, on a second line")
    private boolean info;

    @Option(names = {"-o", "--options"}, description = "the timer that runs, until when, and how often data went again")
    private boolean timers;

    @Option(names = {"-p", "--processes"}, description = "the process and the loop of each")
    private boolean processes;

    @Option(names = {"-t", "--tcp"}, description = "TCP, which is all there is")
    private boolean tcp;

    @Option(names = {"-n", "--numeric"}, description = "numbers, which addresses and ports always are")
    private boolean numeric;

    @Option(names = "--json", description = "print the counts themselves as one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        try (JavaProcess attached = process.attach("ss")) {
            List<Snapshot.Row> sockets = attached.snapshot().sockets();
            if (json) {
                ObjectNode root = Json.object();
                root.set("sockets", new ObjectMapper().valueToTree(sockets));
                Json.print(spec.commandLine().getOut(), root);
                return 0;
            }
            SocketList list = new SocketList(sockets, info, timers, processes ? attached.pid() : null);
            list.print(spec.commandLine().getOut(), all || listening, all || !listening);
        }
        return 0;
    }
}
