package io.rdmaraw.tools.command;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw completion}. */
@Command(name = "completion", mixinStandardHelpOptions = true,
        description = {"Prints completion of commands and options, for bash and for zsh:",
            "  . <(./rdma-raw completion)"})
public final class CompletionCommand implements Callable<Integer> {
    /**
     * Commands that the launcher runs with other programs, with their most frequent options. The commands of this
     * program are listed with all their options.
     */
    private static final Map<String, List<String>> ELSEWHERE = new TreeMap<>(Map.ofEntries(
            Map.entry("bench", List.of("--quick", "--json", "--help")),
            Map.entry("report", List.of("--quick", "--out", "--help")),
            Map.entry("profile", List.of("--pid", "--seconds", "--out", "--wire", "--help")),
            Map.entry("man", List.of("--out", "--help")),
            Map.entry("example", List.of("--device", "--port", "--address", "--transport", "--help")),
            Map.entry("sim", List.of("--seeds", "--from", "--off", "--threads", "--pcap", "--rule", "--json",
                    "--seconds", "--runs", "--case", "--sim", "--core", "--left", "--right", "--both", "--to-right",
                    "--to-left", "--seed", "--help")),
            Map.entry("hardware-check", List.of("--device", "--peer", "--out", "--setup", "--help")),
            Map.entry("test", List.of("--fast", "--containers", "--kernels", "--conformance", "--contract",
                    "--host-model", "--frameworks", "--netty-versions", "--matrix", "--engine", "--programs",
                    "--faults", "--rdma-core", "--aarch64", "--jcstress", "--litmus", "--musl", "--broker-attack",
                    "--recipes", "--seeds", "--from", "--show", "--help")),
            Map.entry("release", List.of("--dry-run", "--out", "--once", "--version", "--help")),
            Map.entry("site", List.of("--out", "--help")),
            Map.entry("build", List.of("--help")),
            Map.entry("install", List.of("--help")),
            Map.entry("java", List.of("--help"))));

    /** The subcommands of these commands; each has the options of its command. */
    private static final Map<String, List<String>> WORDS_OF_OTHERS = Map.of(
            "bench", List.of("frames", "wire", "udp", "tcp", "tcp-core", "idle", "dns", "http", "redis", "websocket",
                    "frameworks", "rivals"),
            "example", List.of("http", "http2", "http3", "dns", "redis", "websocket", "proxy", "echo", "vertx",
                    "reactor-netty", "grpc", "spring-boot", "micronaut", "lettuce"),
            "profile", List.of("rx", "echo", "udp", "tcp"),
            "sim", List.of("goodput", "scripts", "link"));

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        out.println(AutoComplete.bash("rdma-raw", everything()));
        out.flush();
        return 0;
    }

    private CommandLine everything() {
        CommandLine root = new CommandLine(CommandSpec.create().name("rdma-raw"));
        spec.parent().subcommands().forEach((name, command) -> root.addSubcommand(name, command));
        ELSEWHERE.forEach((name, options) -> {
            CommandLine other = withOptions(name, options);
            WORDS_OF_OTHERS.getOrDefault(name, List.of())
                    .forEach(word -> other.addSubcommand(word, withOptions(word, options)));
            root.addSubcommand(name, other);
        });
        return root;
    }

    private static CommandLine withOptions(String name, List<String> options) {
        CommandSpec command = CommandSpec.create().name(name);
        options.forEach(option -> command.addOption(OptionSpec.builder(option).build()));
        return new CommandLine(command);
    }
}
