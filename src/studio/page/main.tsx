document.body.textContent = "studio";
