# Writes the six novels of the R package janeaustenr as plain text, one file a novel.
# Usage: Rscript corpus.R OUTPUT_FOLDER
suppressMessages(library(janeaustenr))
folder <- commandArgs(trailingOnly = TRUE)[1]
if (is.na(folder)) stop("usage: Rscript corpus.R OUTPUT_FOLDER")
dir.create(folder, recursive = TRUE, showWarnings = FALSE)
novels <- c("sensesensibility", "prideprejudice", "mansfieldpark", "emma", "northangerabbey", "persuasion")
for (novel in novels) {
  writeLines(enc2utf8(get(novel)), file.path(folder, paste0(novel, ".txt")), useBytes = TRUE)
}
