package io.rdmaraw.testsuite.readme;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A patch of {@code ci/recipes}, which follows a recipe of CONTRIBUTING.md file by file. The fields of its head name
 * the recipe, the place that the recipe cannot name, the tests to run, the tests that the patch adds, and the files of
 * the recipe that it leaves out, with the reason. A line that begins with a blank continues a field.
 */
final class RecipePatch {
    private static final Pattern FIELD = Pattern.compile("(?m)^(Recipe|Place|Tests|Proof|Left out): (.*(?:\n .*)*)$");
    private static final Pattern CHANGED = Pattern.compile("(?m)^\\+\\+\\+ b/(.*)$");
    private static final Pattern NAME = Pattern.compile("`([^`]+)`");

    private final String file;
    private final String text;
    private final Map<String, List<String>> fields = new LinkedHashMap<>();

    RecipePatch(String file, String text) {
        this.file = file;
        this.text = text;
        FIELD.matcher(text.substring(0, text.indexOf("\ndiff --git "))).results().forEach((MatchResult field) -> fields
                .computeIfAbsent(field.group(1), _ -> new ArrayList<>()).add(field.group(2).replace("\n", "")));
    }

    static RecipePatch read(Path file) throws IOException {
        return new RecipePatch("ci/recipes/" + file.getFileName(), Files.readString(file));
    }

    private List<String> words(String field) {
        return fields.getOrDefault(field, List.of()).stream()
                .flatMap(value -> Stream.of((field.equals("Left out") ? value.split(": ")[0] : value).split(", *")))
                .map(String::strip).toList();
    }

    /** Returns the paths of the files that the patch changes or creates, from the root of the project. */
    List<String> changedFiles() {
        return CHANGED.matcher(text).results().map((MatchResult path) -> path.group(1)).toList();
    }

    /** Returns the differences between the patch and its recipe, one a line. */
    List<String> complaints(String contributing, ProjectNames project) {
        List<String> complaints = new ArrayList<>();
        String recipe = recipe(contributing);
        if (recipe.isEmpty()) {
            return List.of(file + ": CONTRIBUTING.md has no recipe with the heading " + words("Recipe")
                    + ", or no row of a table that names this patch");
        }
        List<String> named = NAME.matcher(recipe).results().map((MatchResult name) -> name.group(1))
                .filter(name -> !name.equals(file)).distinct().toList();
        List<String> changed = changedFiles();
        List<String> leftOut = words("Left out");
        Map<String, Pattern> files = new LinkedHashMap<>();
        for (String name : named) {
            Optional<Pattern> paths = ProjectNames.pathsOf(name);
            if (paths.isPresent() && (project.hasFile(paths.get()) || isAmong(changed, paths.get()))) {
                files.put(name, paths.get());
            }
        }
        for (String path : changed) {
            if (files.values().stream().noneMatch(name -> name.matcher('/' + path).matches())
                    && !words("Place").contains(path)) {
                complaints.add(file + " changes " + path + ", which its recipe does not name");
            }
        }
        List<String> run = words("Tests").stream().map(RecipePatch::className).toList();
        files.forEach((name, paths) -> {
            boolean followed = isAmong(changed, paths) || run.contains(name);
            if (followed && leftOut.contains(name)) {
                complaints.add(file + " uses " + name + ", although its head says that it is left out");
            } else if (!followed && !leftOut.contains(name)) {
                complaints.add(file + " does not use " + name + ", which its recipe names; change the file, or give the"
                        + " reason in a line \"Left out: " + name + ": ...\"");
            }
        });
        leftOut.stream().filter(name -> !files.containsKey(name)).forEach(name -> complaints.add(file
                + " leaves out " + name + ", which its recipe does not name, or which leads to no file"));
        run.stream().filter(test -> !contributing.contains('`' + test + '`') && files.values().stream()
                        .noneMatch(name -> name.matcher('/' + test + ".java").matches()))
                .forEach(test -> complaints.add(file + " runs " + test + ", which CONTRIBUTING.md does not name"));
        run.stream().filter(test -> !project.hasFile(Pattern.compile(".*/src/test/java/.*/" + test + "\\.java")))
                .forEach(test -> complaints.add(file + " runs " + test + ", which is no test of this project"));
        return complaints;
    }

    /** Returns the section of the recipe and the row of the table, or an empty string if one of them is missing. */
    private String recipe(String contributing) {
        String heading = "\n### " + String.join("", words("Recipe")) + '\n';
        int begin = contributing.indexOf(heading);
        String rows = contributing.lines().filter(line -> line.startsWith("| ") && line.contains('`' + file + '`'))
                .collect(Collectors.joining("\n"));
        if (begin < 0 || rows.isEmpty()) {
            return "";
        }
        int end = contributing.indexOf("\n##", begin + heading.length());
        return rows + contributing.substring(begin, end < 0 ? contributing.length() : end);
    }

    private static boolean isAmong(List<String> paths, Pattern name) {
        return paths.stream().anyMatch(path -> name.matcher('/' + path).matches());
    }

    /** Returns the simple name of a class given as {@code Class}, {@code package.Class} or {@code Class#method}. */
    private static String className(String test) {
        return test.replaceFirst("#.*", "").replaceFirst(".*\\.", "");
    }

    /** Returns the tests of the field Proof that the patch does not add, or that it adds to no test that runs. */
    List<String> missingProofs() {
        TreeSet<String> missing = new TreeSet<>();
        List<String> run = words("Tests");
        for (String proof : words("Proof")) {
            String method = proof.substring(proof.indexOf('#') + 1);
            if (!Pattern.compile("(?m)^\\+    void " + method + "\\(").matcher(text).find()
                    || !run.contains(className(proof))) {
                missing.add(file + ": " + proof);
            }
        }
        if (words("Proof").isEmpty()) {
            missing.add(file + " has no field Proof");
        }
        return List.copyOf(missing);
    }

    String text() {
        return text;
    }

    @Override
    public String toString() {
        return file;
    }
}
